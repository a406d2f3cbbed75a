// A transposed convolution visits the taps of one phase of its stride, in their order: with any stride, windows that are smaller than it or larger
// than the image, and rows of outputs that no tap reaches.
// RUN: kb-opt "-passes=schedule" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
#include <cstdio>
#include <vector>

// Divisions by what only the launch knows stand before the loops.
// CHECK: plane_{{w}}ide(
// CHECK: const auto owRest = (ow + pad) % s;
// CHECK: const auto ohQuotient = (oh + pad) / s;
// CHECK: const auto ohQuotient2 = (s + K - ohRest - 1) / s;
// CHECK: for (int c = 0; c < C; ++c)
// CHECK-NEXT: for (int kh = 0; kh < ohQuotient2; ++kh)
// CHECK-NEXT: if (kh <= ohQuotient && ohQuotient < kh + H)
// CHECK-NEXT: for (int kw = 0; kw < owQuotient; ++kw)
__global__ void plane(float *y, const float *x, const float *w, int N, int C, int OC, int H, int W, int OH, int OW, int K, int s, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * OH * OW)
    return;
  int ow = i % OW, oh = i / OW % OH, oc = i / (OW * OH) % OC, n = i / (OW * OH * OC);
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int kh = 0; kh < K; ++kh) {
      int th = oh + pad - kh;
      if (th % s != 0)
        continue;
      int ih = th / s;
      if (ih < 0 || ih >= H)
        continue;
      for (int kw = 0; kw < K; ++kw) {
        int tw = ow + pad - kw, iw = tw / s;
        if (iw * s == tw && iw >= 0 && iw < W)
          sum += x[((n * C + c) * H + ih) * W + iw] * w[((c * OC + oc) * K + kh) * K + kw];
      }
    }
  y[i] = sum;
}

// With constants, and the equation written in other ways.
// CHECK: line_{{w}}ide(
// CHECK: for (int k = 0; k < ((o + 1) % 2 + 3) / 2; ++k)
__global__ void line(float *y, const float *x, const float *w, int L, int OL) {
  int o = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  if (o >= OL)
    return;
  float sum = 0;
  for (int k = 0; k < 3; ++k) {
    int t = o + 2 - k;
    if (t >= 0 && (t & 1) == 0 && t / 2 < L)
      sum += x[c * L + t / 2] * w[c * 3 + k];
  }
  y[c * OL + o] = sum;
}

// CHECK: turned_{{w}}ide(
// CHECK: for (int k = 0; k < ((o + 1) % 2 + 5) / 2; ++k)
__global__ void turned(float *y, const float *x, const float *w, int L, int OL) {
  int o = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  if (o >= OL)
    return;
  float sum = 0;
  for (int k = 0; k < 5; ++k)
    if (!((o + k) % 2) && (o + k) / 2 < L)
      sum += x[c * L + (o + k) / 2] * w[c * 5 + k];
  y[c * OL + o] = sum;
}

// Where more than the terms stands in the loop, all iterations stay.
// CHECK: counted_{{w}}ide(
// CHECK: for (int k = 0; k < K; ++k)
__global__ void counted(float *y, const float *x, int L, int OL, int K, int s) {
  int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= OL)
    return;
  float sum = 0, all = 0;
  for (int k = 0; k < K; ++k) {
    all += 0.5f;
    if ((o - k) % s == 0 && (o - k) / s >= 0 && (o - k) / s < L)
      sum += x[(o - k) / s];
  }
  y[o] = sum / all;
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
  const int N = 2, C = 2, OC = 3, most = N * OC * 24 * 24;
  float *x = make(4096, 1), *w = make(4096, 2), *y = make(most, 3);
  const int shapes[][4] = {{4, 2, 1, 0}, {3, 2, 1, 1}, {3, 1, 1, 0}, {2, 3, 0, 0}, {1, 2, 0, 1}, {7, 2, 0, 0}, {5, 3, 4, 2}};
  for (auto [K, s, pad, more] : shapes) {
    int H = K == 7 ? 2 : 5, W = H + 1, OH = (H - 1) * s - 2 * pad + K + more, OW = (W - 1) * s - 2 * pad + K + more, count = N * OC * OH * OW;
    plane<<<(count + 63) / 64, 64>>>(y, x, w, N, C, OC, H, W, OH, OW, K, s, pad);
    show("plane", y, count);
    counted<<<(OW + 63) / 64, 64>>>(y, x, W, OW, K, s);
    show("counted", y, OW);
  }
  for (int L : {1, 6, 33}) {
    line<<<dim3((2 * L + 31) / 32, 3), 32>>>(y, x, w, L, 2 * L);
    show("line", y, 6 * L);
    turned<<<dim3((2 * L + 31) / 32, 3), 32>>>(y, x, w, L, 2 * L);
    show("turned", y, 6 * L);
  }
}
