// Filters of each channel and pooling: a thread computes several neighbours and loads once what their windows share, also where only the launch
// knows how large a window is. Sizes that do not divide, windows that leave the image, and another window than the one that was expected.
// RUN: kb-opt "-passes=schedule{as='stencil along=oh block=64 fixed=K:3,s:1 inflight=4 lanes=ow rows=0' kernel=depthwise},schedule{kernel=largest},schedule{kernel=mean}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
#include <cstdio>
#include <vector>

// CHECK: depthwise_{{t}}iled(
// CHECK: float xs[6][3];
// CHECK: float ws[3][3];
// CHECK: for (int r = 0; r < count; ++r)
// CHECK: sum += xs[r + kh][kw] * ws[kh][kw];
__global__ void depthwise(float *y, const float *x, const float *w, const float *b, int N, int C, int H, int W, int OH, int OW, int K, int s, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * C * OH * OW)
    return;
  int ow = i % OW, oh = i / OW % OH, c = i / (OW * OH) % C, n = i / (OW * OH * C);
  float sum = b[c];
  for (int kh = 0; kh < K; ++kh)
    for (int kw = 0; kw < K; ++kw) {
      int ih = oh * s - pad + kh, iw = ow * s - pad + kw;
      if (ih >= 0 && ih < H && iw >= 0 && iw < W)
        sum += x[((n * C + c) * H + ih) * W + iw] * w[(c * K + kh) * K + kw];
    }
  y[i] = fmaxf(sum, 0.0f);
}

// CHECK: largest_{{t}}iled(
// CHECK: [2 * r + kh][kw]
__global__ void largest(float *y, const float *x, int planes, int H, int W, int OH, int OW) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= planes * OH * OW)
    return;
  int ow = i % OW, oh = i / OW % OH, p = i / (OW * OH);
  float best = -INFINITY;
  for (int kh = 0; kh < 3; ++kh)
    for (int kw = 0; kw < 3; ++kw) {
      int ih = oh * 2 - 1 + kh, iw = ow * 2 - 1 + kw;
      if (ih >= 0 && ih < H && iw >= 0 && iw < W)
        best = fmaxf(best, x[(p * H + ih) * W + iw]);
    }
  y[i] = best;
}

// CHECK: mean_{{t}}iled(
__global__ void mean(float *y, const float *x, int planes, int H, int W, int OH, int OW) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= planes * OH * OW)
    return;
  int ow = i % OW, oh = i / OW % OH, p = i / (OW * OH);
  float sum = 0;
  int count = 0;
  for (int kh = 0; kh < 3; ++kh)
    for (int kw = 0; kw < 3; ++kw) {
      int ih = oh - 1 + kh, iw = ow - 1 + kw;
      if (ih < 0 || ih >= H || iw < 0 || iw >= W)
        continue;
      sum += x[(p * H + ih) * W + iw];
      ++count;
    }
  y[i] = sum / count;
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
  const int N = 2, C = 3, most = N * C * 20 * 40;
  float *x = make(most, 1), *w = make(C * 25, 2), *b = make(C, 4), *y = make(most, 3);
  for (int H : {17, 4, 1})
    for (int K : {3, 5}) {
      int W = H * 2, pad = 1, OH = H + 2 * pad - K + 1, OW = W + 2 * pad - K + 1, count = N * C * OH * OW;
      if (count <= 0)
        continue;
      depthwise<<<(count + 63) / 64, 64>>>(y, x, w, b, N, C, H, W, OH, OW, K, 1, pad);
      show("depthwise", y, count);
    }
  depthwise<<<(N * C * 9 * 17 + 63) / 64, 64>>>(y, x, w, b, N, C, 17, 33, 9, 17, 3, 2, 1);
  show("strided", y, N * C * 9 * 17);
  for (int H : {18, 5, 1}) {
    int W = H + 15, OH = (H + 1) / 2, OW = (W + 1) / 2;
    largest<<<(6 * OH * OW + 63) / 64, 64>>>(y, x, 6, H, W, OH, OW);
    show("largest", y, 6 * OH * OW);
    mean<<<(6 * H * W + 63) / 64, 64>>>(y, x, 6, H, W, H, W);
    show("mean", y, 6 * H * W);
  }
}
