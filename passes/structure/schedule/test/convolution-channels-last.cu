// Convolutions with channels last: the channels of a pixel are copied 16 bytes at a time, on the matrix units also where they are the outermost
// loop. Five channels are loaded one by one with vector=1, and run the given kernel else.
// RUN: kb-opt -arch=sm_90 "-passes=schedule{as='contraction core=half bm=64 bn=64 tm=32 tn=32 split=1 stages=3 vector=4' kernel=outer},schedule{as='contraction core=half bm=32 bn=64 tm=32 tn=32 split=2 stages=3 vector=1' kernel=inner},schedule{as='contraction bm=32 bn=64 bk=16 tm=4 tn=8 stages=2 vector=4' kernel=single}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s -- -arch=sm_90 | FileCheck --check-prefix=JUDGE %s %}
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=64 bk=16 tm=4 tn=8 stages=3 vector=4' kernel=single}" --quiet -o %t.async.cu %s
// RUN: %code %t.async.cu | FileCheck --check-prefix=ASYNC %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.async.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
#include <cuda_fp16.h>
#include <cstdio>
#include <cmath>
#include <vector>

// CHECK: {{o}}uter_tiled(
// CHECK: const half *xFrom[BM / xApart];
// CHECK: const int c = depth % C;
// CHECK: __pipeline_memcpy_async(&xTile[stage][xRow + chunk * xApart][xPlace],
// CHECK-NEXT: xFrom[chunk] + xPlace2[slot][xTerm], 16,
// CHECK-NEXT: (xOutside[chunk] & xBits[slot][xTerm]) == 0 ? 0 : 16);
__global__ void outer(half *y, const half *x, const half *w, int N, int C, int H, int W, int OC) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * H * W * OC)
    return;
  int oc = i % OC, ow = i / OC % W, oh = i / (OC * W) % H, n = i / (OC * W * H);
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int kh = 0; kh < 3; ++kh)
      for (int kw = 0; kw < 3; ++kw)
        if (oh + kh >= 1 && oh + kh <= H && ow + kw >= 1 && ow + kw <= W)
          sum += __half2float(x[((n * H + oh + kh - 1) * W + ow + kw - 1) * C + c]) * __half2float(w[((oc * 3 + kh) * 3 + kw) * C + c]);
  y[i] = __float2half(sum);
}

// CHECK: {{i}}nner_tiled(
// CHECK: (xOutside[chunk] & xBits[slot][xTerm + e]) == 0
__global__ void inner(half *y, const half *x, const half *w, int N, int C, int H, int W, int OC) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * H * W * OC)
    return;
  int oc = i % OC, ow = i / OC % W, oh = i / (OC * W) % H, n = i / (OC * W * H);
  float sum = 0;
    for (int kh = 0; kh < 3; ++kh)
      for (int kw = 0; kw < 3; ++kw) {
        int ih = oh + kh - 1, iw = ow + kw - 1;
        if (ih < 0 || ih >= H || iw < 0 || iw >= W) continue;
  for (int c = 0; c < C; ++c)
          sum += __half2float(x[((n * H + ih) * W + iw) * C + c]) * __half2float(w[((kh * 3 + kw) * C + c) * OC + oc]);
      }
  y[i] = __float2half(sum);
}

// Bit by bit as given.
// CHECK: {{s}}ingle_tiled(
// CHECK: (xOutside[chunk] & xBits[slot][xTerm]) == 0
// CHECK-NEXT: ? *reinterpret_cast<const float4 *>(xFrom[chunk] + xPlace[slot][xTerm])
// CHECK-NEXT: : float4();
// ASYNC: {{s}}ingle_tiled(
// ASYNC: __pipeline_memcpy_async(&xTile[stage]
// ASYNC: (xOutside[chunk] & xBits[slot][xTerm]) == 0 ? 0 : 16);
__global__ void single(float *y, const float *x, const float *w, int N, int C, int H, int W, int OC) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * H * W * OC)
    return;
  int oc = i % OC, ow = i / OC % W, oh = i / (OC * W) % H, n = i / (OC * W * H);
  float sum = 0;
    for (int kh = 0; kh < 3; ++kh)
      for (int kw = 0; kw < 3; ++kw) {
        int ih = oh + kh - 1, iw = ow + kw - 1;
        if (ih < 0 || ih >= H || iw < 0 || iw >= W) continue;
  for (int c = 0; c < C; ++c)
          sum += x[((n * H + ih) * W + iw) * C + c] * w[((kh * 3 + kw) * C + c) * OC + oc];
      }
  y[i] = sum;
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
  for (int C : {8, 40, 5}) {
    int N = 2, H = 6, W = 7, OC = 24;
    size_t count = N * H * W * OC;
    half *y = make<half>(std::vector<float>(count)), *x = make<half>(values(N * C * H * W, 1)), *w = make<half>(values(OC * C * 9, 2));
    float *yf = make<float>(std::vector<float>(count)), *xf = make<float>(values(N * C * H * W, 1)), *wf = make<float>(values(OC * C * 9, 2));
    outer<<<(count + 127) / 128, 128>>>(y, x, w, N, C, H, W, OC);
    show("outer", y, count);
    inner<<<(count + 127) / 128, 128>>>(y, x, w, N, C, H, W, OC);
    show("inner", y, count);
    single<<<(count + 127) / 128, 128>>>(yf, xf, wf, N, C, H, W, OC);
    show("single", yf, count);
  }
}
