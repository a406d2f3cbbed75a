// Convolutions of halves and bf16 on the matrix units: pixels are loaded one by one and stored as chunks of eight terms, weights are copied
// 16 bytes at a time where that is possible. Padding, infinite weights, windows larger than the image, no outputs, one channel, groups.
// RUN: kb-opt -arch=sm_90 "-passes=schedule{as='contraction core=half bm=64 bn=64 tm=32 tn=32 stages=3' kernel=convolution},schedule{as='contraction core=half bm=32 bn=64 tm=16 tn=32 stages=4' kernel=grouped},schedule{as='contraction core=half bm=64 bn=32 tm=32 tn=16 stages=3 vector=1' kernel=product}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s -- -arch=sm_90 | FileCheck --check-prefix=JUDGE %s %}
// RUN: kb-opt -arch=sm_90 "-passes=schedule{as='contraction core=bf16 bm=32 bn=64 tm=32 tn=32 split=2 stages=3' kernel=brain}" --quiet -o %t.brain.cu %s
// RUN: %code %t.brain.cu | FileCheck --check-prefix=BRAIN %s
// RUN: echo 'program: {arguments: []}' > %t.yaml
// RUN: echo 'tolerance: {relative: 1e-2, absolute: 1e-2}' >> %t.yaml
// RUN: %if long %{ kb-opt --by-passes --judge=%t.brain.cu --promise=lower-precision --workload=%t.yaml %s -- -arch=sm_90 | FileCheck --check-prefix=JUDGE %s %}
// RUN: kb-opt -arch=sm_90 "-passes=schedule{as='contraction core=half bm=64 bn=256 tm=64 tn=64 split=1 stages=3' kernel=convolution}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=THREADS %s
// REMARK: added 'convolution_{{t}}iled'
// REMARK: added 'grouped_{{t}}iled'
// REMARK: added 'product_{{t}}iled'
// THREADS: 128 threads do not copy whole rows of x
// JUDGE: {{^}}correct
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

// CHECK: {{c}}onvolution_tiled(
// CHECK: asm("" : "+l"(xFrom)); // nvcc would add it up anew for each element
// Nothing is multiplied in size_t where elements are loaded.
// CHECK: auto load = [&](int stage, int piece, int left, int begin) {
// CHECK-NOT: size_t
// CHECK: xNext[chunk / (STEPS - 1)][e] = (xOutside & xBits[slot][xTerm + chunk * xApart + e]) == 0
// CHECK-NEXT: ? __ldg(xFrom + xPlace{{.*}}[e])
// CHECK-NEXT: : half();
// CHECK-NOT: size_t
// CHECK: __pipeline_memcpy_async(&wTile
// CHECK-NOT: size_t
// CHECK: auto keep = [&](int stage, int piece) {
// CHECK: *reinterpret_cast<uint4 *>(
// CHECK-NEXT: &xTile[stage][xColumn]
// CHECK: load(used, step, BK, depth0 + (STAGES - 1) * BK);
// CHECK: if (length - depth0 >= STAGES * BK)
// CHECK-NEXT: keep(used, step - 1);
// CHECK: again[i]
__global__ void convolution(half *y, const half *x, const half *w, const half *bias, int N, int C, int H, int W, int OC, int KH, int KW,
                            int stride, int pad, int OH, int OW) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * OH * OW)
    return;
  int ow = i % OW, oh = i / OW % OH, oc = i / (OW * OH) % OC, n = i / (OW * OH * OC);
  float sum = __half2float(bias[oc]);
  for (int c = 0; c < C; ++c)
    for (int kh = 0; kh < KH; ++kh)
      for (int kw = 0; kw < KW; ++kw) {
        int ih = oh * stride - pad + kh, iw = ow * stride - pad + kw;
        if (ih >= 0 && ih < H && iw >= 0 && iw < W)
          sum += __half2float(x[((n * C + c) * H + ih) * W + iw]) * __half2float(w[((oc * C + c) * KH + kh) * KW + kw]);
      }
  y[i] = __float2half(sum);
}

// A choice adds zeros itself. The warps of a block share out the terms.
// BRAIN: {{b}}rain_tiled(
// BRAIN: xNext[chunk][e] =
// BRAIN-NOT: again
__global__ void brain(__nv_bfloat16 *y, const __nv_bfloat16 *x, const __nv_bfloat16 *w, int N, int C, int H, int OC, int OH) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * OH)
    return;
  int p = i % OH, oc = i / OH % OC, n = i / (OH * OC);
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int k = 0; k < 5; ++k) {
      int at = p * 2 + k * 2 - 3;
      float v = at >= 0 && at < H ? __bfloat162float(x[(n * C + c) * H + at]) : 0.0f;
      sum += v * __bfloat162float(w[(oc * C + c) * 5 + k]);
    }
  y[i] = __float2bfloat16(fmaxf(sum, 0.0f));
}

// CHECK: {{g}}rouped_tiled(
__global__ void grouped(half *y, const half *x, const half *w, int N, int C, int H, int W, int OC, int groups) {
  int p = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y, n = blockIdx.z;
  if (p >= H * W)
    return;
  int oh = p / W, ow = p % W, group = oc / (OC / groups);
  float sum = 0;
  for (int c = 0; c < C / groups; ++c)
    for (int kh = 0; kh < 3; ++kh)
      for (int kw = 0; kw < 3; ++kw) {
        int ih = oh + kh - 1, iw = ow + kw - 1;
        if (ih < 0 || ih >= H || iw < 0 || iw >= W)
          continue;
        sum += __half2float(x[((n * C + group * (C / groups) + c) * H + ih) * W + iw]) * __half2float(w[((oc * (C / groups) + c) * 3 + kh) * 3 + kw]);
      }
  y[((n * OC + oc) * H + oh) * W + ow] = __float2half(sum);
}

// Neither the sum nor a row has a length that 8 divides.
// CHECK: {{p}}roduct_tiled(
// CHECK: __ldg(aFrom[chunk] + e)
// CHECK: __ldg(bFrom + (chunk * bApart + e) * (size_t)n)
__global__ void product(half *c, const half *a, const half *b, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
  c[row * n + col] = __float2half(sum);
}

template <class T> T *make(const std::vector<float> &from) {
  std::vector<T> h(from.begin(), from.end());
  T *d;
  cudaMalloc(&d, h.size() * sizeof(T) + 16);
  cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

std::vector<float> values(size_t n, int seed) {
  std::vector<float> h(n);
  for (size_t i = 0; i < n; ++i)
    h[i] = float((i * 7919 + seed * 131) % 1000) / 500 - 1;
  return h;
}

template <class T> void show(const char *name, T *d, size_t n) {
  std::vector<T> h(n);
  cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (T each : h)
    sum = sum * 0.99 + (std::isfinite(float(each)) ? float(each) : 1);
  printf("%s %g\n", name, sum);
}

int main() {
  struct Shape {
    int N, C, H, W, OC, KH, KW, stride, pad;
  };
  Shape shapes[] = {{2, 3, 9, 11, 5, 3, 3, 1, 1}, {1, 8, 8, 8, 36, 3, 3, 2, 1}, {1, 56, 8, 8, 3, 3, 3, 2, 1}, {3, 1, 7, 5, 1, 1, 1, 1, 0}, {1, 8, 4, 4, 3, 7, 5, 1, 3}, {1, 2, 4, 5, 3, 6, 5, 1, 0}};
  for (Shape s : shapes)
    for (int special : {0, 1, 2}) {
      int OH = std::max(0, (s.H + 2 * s.pad - s.KH) / s.stride + 1), OW = std::max(0, (s.W + 2 * s.pad - s.KW) / s.stride + 1);
      std::vector<float> x = values(s.N * s.C * s.H * s.W, 1), w = values(s.OC * s.C * s.KH * s.KW, 2);
      if (special == 1) // a product with zero would be no number
        w[0] = INFINITY, w[w.size() / 2] = NAN, x[x.size() / 2] = -INFINITY;
      if (special == 2) // sums of -0
        for (float &each : x)
          each = -0.0f;
      size_t count = s.N * s.OC * OH * OW;
      half *y = make<half>(std::vector<float>(count)), *dx = make<half>(x), *dw = make<half>(w),
           *bias = make<half>(special == 2 ? std::vector<float>(s.OC, -0.0f) : values(s.OC, 3));
      convolution<<<std::max<size_t>(1, (count + 127) / 128), 128>>>(y, dx, dw, bias, s.N, s.C, s.H, s.W, s.OC, s.KH, s.KW, s.stride, s.pad, OH, OW);
      show("convolution", y, count);
    }
  for (int C : {1, 3, 40}) {
    int N = 2, H = 37, OC = 9, OH = 18;
    auto *y = make<__nv_bfloat16>(std::vector<float>(N * OC * OH)), *x = make<__nv_bfloat16>(values(N * C * H, 1)), *w = make<__nv_bfloat16>(values(OC * C * 5, 2));
    brain<<<(N * OC * OH + 63) / 64, 64>>>(y, x, w, N, C, H, OC, OH);
    show("brain", y, N * OC * OH);
  }
  for (int groups : {1, 2, 8}) {
    int N = 2, C = 16, H = 6, W = 10, OC = 24;
    half *y = make<half>(std::vector<float>(N * OC * H * W)), *x = make<half>(values(N * C * H * W, 1)), *w = make<half>(values(OC * C / groups * 9, 2));
    grouped<<<dim3((H * W + 31) / 32, OC, N), 32>>>(y, x, w, N, C, H, W, OC, groups);
    show("grouped", y, N * OC * H * W);
  }
  for (int k : {1, 64, 77, 200}) {
    int m = 70, n = 37;
    half *c = make<half>(std::vector<float>(m * n)), *a = make<half>(values(m * k, 1)), *b = make<half>(values(k * n, 2));
    product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(c, a, b, m, n, k);
    show("product", c, m * n);
  }
}
