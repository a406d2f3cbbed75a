// Convolutions in the forms that people write: of one and three dimensions, with `continue` and a choice in place of an if, in groups, with
// stride and dilation, of doubles, integers and halves, channels last.
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=64 bk=16 tm=4 tn=8 stages=2 vector=4 core=simt'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=32 bk=32 tm=4 tn=4 stages=3 vector=1 core=simt'}" --quiet -o %t.async.cu %s
// RUN: %code %t.async.cu | FileCheck --check-prefix=ASYNC %s
// RUN: kb-opt --by-passes --judge=%t.async.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s
// JUDGE: {{^}}correct
#include <cmath>
#include <cstdio>
#include <cuda_fp16.h>
#include <vector>

// A choice adds zeros itself: its sums need no second look.
// CHECK: {{o}}ne_tiled(
// CHECK: if (!((unsigned)(xP + k - 2) < (unsigned)L))
// CHECK: ? __ldg(xFrom + xPlace[slot][xTerm + chunk * xApart])
// CHECK-NOT: again
// CHECK: {{t}}hree_tiled(
// ASYNC: {{o}}ne_tiled(
// ASYNC: if ((xOutside & xBits[slot][{{.*}}]) == 0)
// ASYNC-NEXT: __pipeline_memcpy_async(&xTile[stage]
// ASYNC: else
// ASYNC-NEXT: xTile[stage]{{.*}} = 0.0f;
__global__ void one(float *y, const float *x, const float *w, int N, int C, int L, int OC) {
  int p = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y, n = blockIdx.z;
  if (p >= L)
    return;
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int k = 0; k < 5; ++k) {
      int at = p + k - 2;
      float v = at >= 0 && at < L ? x[(n * C + c) * L + at] : 0.0f;
      sum += v * w[(oc * C + c) * 5 + k];
    }
  y[(n * OC + oc) * L + p] = fmaxf(sum, 0.0f);
}

// `continue` for each dimension, doubles.
__global__ void three(double *y, const double *x, const double *w, int C, int D, int H, int W, int OC, int K, int dilation, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= OC * D * H * W)
    return;
  int ow = i % W, oh = i / W % H, od = i / (W * H) % D, oc = i / (W * H * D);
  double sum = 0;
  for (int c = 0; c < C; ++c)
    for (int kd = 0; kd < K; ++kd) {
      int d = od + kd * dilation - pad;
      if (d < 0 || d >= D)
        continue;
      for (int kh = 0; kh < K; ++kh) {
        int h = oh + kh * dilation - pad;
        if (h < 0 || h >= H)
          continue;
        for (int kw = 0; kw < K; ++kw) {
          int v = ow + kw * dilation - pad;
          if (v < 0 || v >= W)
            continue;
          sum += x[((c * D + d) * H + h) * W + v] * w[(((oc * C + c) * K + kd) * K + kh) * K + kw];
        }
      }
    }
  y[i] = sum;
}

// Groups are a batch; halves into floats.
// CHECK: {{g}}rouped_tiled(
__global__ void grouped(__half *y, const __half *x, const __half *w, const __half *bias, int N, int C, int H, int W, int OC, int groups, int stride,
                        int OH, int OW) {
  int p = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y * blockDim.y + threadIdx.y, n = blockIdx.z;
  if (oc >= OC || p >= OH * OW)
    return;
  int oh = p / OW, ow = p % OW, group = oc / (OC / groups);
  float sum = 0.0f;
  for (int c = 0; c < C / groups; ++c)
    for (int kh = 0; kh < 3; ++kh)
      for (int kw = 0; kw < 3; ++kw) {
        int ih = oh * stride + kh - 1, iw = ow * stride + kw - 1;
        if (ih < 0 || ih >= H || iw < 0 || iw >= W)
          continue;
        sum += __half2float(x[((n * C + group * (C / groups) + c) * H + ih) * W + iw]) * __half2float(w[((oc * (C / groups) + c) * 3 + kh) * 3 + kw]);
      }
  if (bias)
    sum += __half2float(bias[oc]);
  y[((n * OC + oc) * OH + oh) * OW + ow] = __float2half(sum);
}

// Channels last: pixels are rows, channels columns. Integers need no second look.
// CHECK: {{c}}hannelsLastTiled(
// CHECK-NOT: again
__global__ void channelsLast(int *y, const int *x, const int *w, int C, int H, int W, int OC) {
  int oc = blockIdx.x * blockDim.x + threadIdx.x, ow = blockIdx.y, oh = blockIdx.z;
  if (oc >= OC)
    return;
  int sum = 1;
  for (int kh = 0; kh < 3; ++kh)
    for (int kw = 0; kw < 3; ++kw)
      for (int c = 0; c < C; ++c)
        if (oh + kh >= 1 && oh + kh <= H && ow + kw >= 1 && ow + kw <= W)
          sum += x[((oh + kh - 1) * W + ow + kw - 1) * C + c] * w[((kh * 3 + kw) * C + c) * OC + oc];
  y[(oh * W + ow) * OC + oc] = sum;
}

template <class T> T *make(size_t n, int seed) {
  std::vector<T> h(n);
  for (size_t i = 0; i < n; ++i)
    h[i] = T(float((i * 7919 + seed * 131) % 1000) / (sizeof(T) == 4 && T(0.5f) == T(0) ? 10.0f : 500.0f) - 1.0f);
  T *d;
  cudaMalloc(&d, (n + 4) * sizeof(T));
  cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

template <class T> void show(const char *name, T *d, size_t n) {
  std::vector<unsigned char> h(n * sizeof(T));
  cudaMemcpy(h.data(), d, h.size(), cudaMemcpyDeviceToHost);
  unsigned bits = 0;
  for (unsigned char x : h)
    bits = bits * 31 + x;
  printf("%s %u\n", name, bits);
}

int main() {
  for (int turn : {0, 1}) {
    int N = 2, C = turn ? 4 : 3, L = turn ? 64 : 37, OC = turn ? 36 : 5;
    float *y1 = make<float>(N * OC * L, 0), *x1 = make<float>(N * C * L, 1), *w1 = make<float>(OC * C * 5, 2);
    one<<<dim3((L + 31) / 32, OC, N), 32>>>(y1, x1, w1, N, C, L, OC);
    show("one", y1, N * OC * L);

    int D = 3, H = 5, W = turn ? 8 : 6, K = turn ? 1 : 3, dilation = turn ? 1 : 2, pad = turn ? 0 : 2, total = OC * D * H * W;
    double *y3 = make<double>(total, 0), *x3 = make<double>(C * D * H * W, 1), *w3 = make<double>(OC * C * K * K * K, 2);
    three<<<(total + 127) / 128, 128>>>(y3, x3, w3, C, D, H, W, OC, K, dilation, pad);
    show("three", y3, total);

    int groups = turn ? 3 : 1, gc = 2 * groups, goc = 5 * groups, stride = turn + 1, OH = (H - 1) / stride + 1, OW = (W - 1) / stride + 1;
    __half *yg = make<__half>(N * goc * OH * OW, 0), *xg = make<__half>(N * gc * H * W, 1), *wg = make<__half>(goc * 2 * 9, 2),
           *bias = turn ? make<__half>(goc, 3) : nullptr;
    grouped<<<dim3((OH * OW + 15) / 16, (goc + 3) / 4, N), dim3(16, 4)>>>(yg, xg, wg, bias, N, gc, H, W, goc, groups, stride, OH, OW);
    show("grouped", yg, N * goc * OH * OW);

    int *yl = make<int>(H * W * OC, 0), *xl = make<int>(H * W * C, 1), *wl = make<int>(9 * C * OC, 2);
    channelsLast<<<dim3((OC + 31) / 32, W, H), 32>>>(yl, xl, wl, C, H, W, OC);
    show("channelsLast", yl, H * W * OC);
  }
}
