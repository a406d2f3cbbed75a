// Windows with more places than a word has bits are compared place by place; at the launch, where their size is not known. Sums over a window
// of one channel get a thread each. What cannot be proven stays out.
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=64 bk=8 tm=4 tn=8 stages=2 vector=1' kernel=far},schedule{as='contraction bm=32 bn=64 bk=8 tm=4 tn=8 stages=2 vector=4' kernel=any},schedule{kernel=depthwise},schedule{as='contraction' kernel=largest}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s
// RUN: kb-opt "-passes=schedule{as='contraction' kernel=depthwise}" -o %t.no.cu %s 2>&1 | FileCheck --check-prefix=NO %s
// REMARK: remark: added 'far{{_}}tiled'
// REMARK: remark: added 'any{{_}}tiled'
// REMARK: remark: added 'depthwise{{_}}wide' (map
// REMARK: does not apply: a condition around the sum over c leaves out terms that zeros do not stand for
// NO: does not apply: x varies with both n and c
// JUDGE: {{^}}correct
#include <cstdio>
#include <vector>

// CHECK: {{f}}ar_tiled(
// CHECK: __shared__ __align__(16) int xK[2][BK];
// CHECK: xK[slot][threadIdx.x] = k;
__global__ void far(float *y, const float *x, const float *w, int N, int C, int L, int OC) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * L)
    return;
  int p = i % L, oc = i / L % OC, n = i / (L * OC);
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int k = 0; k < 40; ++k)
      if (p + k >= 20 && p + k < L + 20)
        sum += w[(oc * C + c) * 40 + k] * x[(n * C + c) * L + p + k - 20];
  y[i] = sum;
}

// CHECK: {{a}}ny_tiled(
// CHECK: xOutside |= 1u << k;
__global__ void any(float *y, const float *x, const float *w, int N, int C, int L, int OC, int K, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * L)
    return;
  int p = i % L, oc = i / L % OC, n = i / (L * OC);
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int k = 0; k < K; ++k) {
      int at = p + k - pad;
      if (at < 0 || at >= L)
        continue;
      sum += w[(oc * C + c) * K + k] * x[(n * C + c) * L + at];
    }
  y[i] = sum;
}

__global__ void depthwise(float *y, const float *x, const float *w, int N, int C, int L, int K, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * C * L)
    return;
  int p = i % L, c = i / L % C, n = i / (L * C);
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    int at = p + k - pad;
    if (at >= 0 && at < L)
      sum += w[c * K + k] * x[(n * C + c) * L + at];
  }
  y[i] = sum;
}

__global__ void largest(float *y, const float *x, const float *w, int N, int C, int L, int OC) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * L)
    return;
  int p = i % L, oc = i / L % OC, n = i / (L * OC);
  float best = 0;
  for (int c = 0; c < C; ++c)
    for (int k = 0; k < 3; ++k)
      if (p + k >= 1 && p + k < L + 1)
        best = fmaxf(best, w[(oc * C + c) * 3 + k] * x[(n * C + c) * L + p + k - 1]);
  y[i] = best;
}

float *make(size_t n, int seed) {
  std::vector<float> h(n);
  for (size_t i = 0; i < n; ++i)
    h[i] = float((i * 7919 + seed * 131) % 1000) / 500 - 1;
  float *d;
  cudaMalloc(&d, n * sizeof(float));
  cudaMemcpy(d, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  return d;
}

void show(const char *name, float *d, size_t n) {
  std::vector<float> h(n);
  cudaMemcpy(h.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (float x : h)
    sum = sum * 0.99 + x;
  printf("%s %.17g\n", name, sum);
}

int main() {
  int N = 2, C = 4, L = 72, OC = 6, count = N * OC * L;
  float *x = make(N * C * L, 1), *w = make(OC * C * 40, 2), *y = make(count, 3);
  far<<<(count + 63) / 64, 64>>>(y, x, w, N, C, L, OC);
  show("far", y, count);
  for (int K : {1, 4, 31, 32}) { // the last one is the given kernel
    any<<<(count + 63) / 64, 64>>>(y, x, w, N, C, L, OC, K, K / 2);
    show("any", y, count);
  }
  depthwise<<<(N * C * L + 63) / 64, 64>>>(y, x, w, N, C, L, 5, 2);
  show("depthwise", y, N * C * L);
  largest<<<(count + 63) / 64, 64>>>(y, x, w, N, C, L, OC);
  show("largest", y, count);
}
