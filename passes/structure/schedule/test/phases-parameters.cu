// Strides, paddings and lengths of windows that are parameters: a schedule is for the values that its key names, and a launch with others runs the
// given kernel.
// RUN: kb-opt "-passes=schedule{as='contraction bk=64 bm=32 bn=32 core=half group=4 phases=K:3,padding:1,stride:2 split=1 stages=3 tm=16 tn=16 unit=mma vector=1'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
// CHECK: {{c}}onvTTiled(
// CHECK: const int {{o}}hPhase = blockIdx.x /
// CHECK: {{s}}tride >= 2 && stride <= 2
// CHECK: {{c}}onvTTiled<<<
// CHECK: {{c}}onvT<<<

// A stride of one has one phase.
// RUN: kb-opt "-passes=schedule{as='contraction bk=16 bm=64 bn=32 core=simt phases=K:3,padding:1,stride:1 stages=2 tm=8 tn=4'}" --emit=kb-nest %s | FileCheck --check-prefix=ONE %s
// ONE: kb.nest {{.*}} dims ["n", "oc", "oh", "ow"]
// ONE: kb.over "kh" reduction extent <over {{.*}} : 3>

// RUN: kb-opt "-passes=schedule{as='contraction core=simt phases=stride'}" %s 2>&1 | FileCheck --check-prefix=WRITTEN %s
// WRITTEN: 'phases=stride' is neither 1 nor like phases=stride:2,padding:1
// RUN: kb-opt "-passes=schedule{as='contraction core=simt phases=step:2'}" %s 2>&1 | FileCheck --check-prefix=NONE %s
// NONE: 'step' is no parameter that its sums use
#include <cuda_fp16.h>
#include <cuda_runtime.h>
__global__ void convT(__half *__restrict__ y, const __half *__restrict__ a, const __half *__restrict__ w, int N, int C, int OC, int H, int W, int HO, int WO, int K, int stride, int padding) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * HO * WO)
    return;
  int ow = i % WO, oh = i / WO % HO, oc = i / (WO * HO) % OC, n = i / (WO * HO * OC);
  float acc = 0.0f;
  for (int c = 0; c < C; ++c)
    for (int kh = 0; kh < K; ++kh) {
      int t = oh + padding - kh;
      if (t < 0 || t % stride != 0)
        continue;
      int ih = t / stride;
      if (ih >= H)
        continue;
      for (int kw = 0; kw < K; ++kw) {
        int u = ow + padding - kw;
        if (u < 0 || u % stride != 0)
          continue;
        int iw = u / stride;
        if (iw >= W)
          continue;
        acc += __half2float(a[((n * C + c) * H + ih) * W + iw]) * __half2float(w[((c * OC + oc) * K + kh) * K + kw]);
      }
    }
  y[i] = __float2half(acc);
}
void run(__half *y, const __half *a, const __half *w, int N, int C, int OC, int H, int W, int K, int stride, int padding) {
  int HO = (H - 1) * stride - 2 * padding + K, WO = (W - 1) * stride - 2 * padding + K;
  convT<<<(N * OC * HO * WO + 255) / 256, 256>>>(y, a, w, N, C, OC, H, W, HO, WO, K, stride, padding);
}

/* kb-workload:
entry: run
sizes: {n: 2, c: 4, oc: 32, h: 9, w: 8, k: 3, s: 2, p: 1}
test-sizes: [{n: 1, c: 8, oc: 16, h: 6, w: 7, k: 3, s: 2, p: 1}, {n: 1, c: 4, oc: 16, h: 6, w: 7, k: 3, s: 1, p: 1}]
unseen-sizes: [{n: 3, c: 3, oc: 17, h: 5, w: 5, k: 3, s: 2, p: 1}]
parameters:
  - {name: y, type: f16, shape: [n, oc, (h - 1) * s - 2 * p + k, (w - 1) * s - 2 * p + k], role: out}
  - {name: a, type: f16, shape: [n, c, h, w], role: in, init: normal}
  - {name: w, type: f16, shape: [c, oc, k, k], role: in, init: normal}
  - {name: N, value: n}
  - {name: C, value: c}
  - {name: OC, value: oc}
  - {name: H, value: h}
  - {name: W, value: w}
  - {name: K, value: k}
  - {name: stride, value: s}
  - {name: padding, value: p}
*/
