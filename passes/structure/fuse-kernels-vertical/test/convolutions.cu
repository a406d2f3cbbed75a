// A convolution and what follows it, element by element, become one kernel, which still is a contraction: a bias and a norm of each channel, and a
// sum with another image. How many images there are is a quotient in one of the kernels; the host shows that it is their number in the other one.
// RUN: kb-opt "-passes=fuse-kernels-vertical,schedule" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGED %s
// REMARK: joined 4 launches in 'convolveAddBiasNormalizeAdd{{R}}elu'
// REMARK: added 'convolveAddBias{{.*}}Tiled'{{.*}} (contraction
// JUDGED: {{^}}correct
#include <cstdio>
#include <vector>

__global__ void convolve(float *y, const float *x, const float *w, int N, int C, int H, int W, int OC, int K, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * H * W)
    return;
  int ow = i % W, oh = i / W % H, oc = i / (W * H) % OC, n = i / (W * H * OC);
  float sum = 0;
  for (int c = 0; c < C; ++c)
    for (int kh = 0; kh < K; ++kh)
      for (int kw = 0; kw < K; ++kw) {
        int ih = oh - pad + kh, iw = ow - pad + kw;
        if (ih >= 0 && ih < H && iw >= 0 && iw < W)
          sum += x[((n * C + c) * H + ih) * W + iw] * w[((oc * C + c) * K + kh) * K + kw];
      }
  y[i] = sum;
}

__global__ void addBias(float *y, const float *bias, int count, int channels, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    y[i] = y[i] + bias[i / pixels % channels];
}

__global__ void normalize(float *out, const float *x, const float *mean, const float *scale, int count, int channels, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  int c = i / pixels % channels;
  out[i] = (x[i] - mean[c]) * scale[c];
}

__global__ void addRelu(float *out, const float *x, const float *residual, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = fmaxf(x[i] + residual[i], 0.0f);
}

void layer(float *out, float *t, float *u, const float *x, const float *w, const float *bias, const float *mean, const float *scale, const float *residual,
           int N, int C, int H, int W, int OC) {
  int count = N * OC * H * W;
  convolve<<<(count + 127) / 128, 128>>>(t, x, w, N, C, H, W, OC, 3, 1);
  addBias<<<(count + 255) / 256, 256>>>(t, bias, count, OC, H * W);
  normalize<<<(count + 255) / 256, 256>>>(u, t, mean, scale, count, OC, H * W);
  addRelu<<<(count + 255) / 256, 256>>>(out, u, residual, count);
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

int main() {
  int N = 2, C = 4, H = 9, W = 12, OC = 33, count = N * OC * H * W;
  float *x = make(N * C * H * W, 1), *w = make(OC * C * 9, 2), *b = make(OC, 3), *m = make(OC, 4), *s = make(OC, 5), *r = make(count, 6), *t = make(count, 7),
        *u = make(count, 8), *y = make(count, 9);
  layer(y, t, u, x, w, b, m, s, r, N, C, H, W, OC);
  std::vector<float> h(count);
  cudaMemcpy(h.data(), y, count * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (float each : h)
    sum = sum * 0.99 + each;
  printf("%.17g\n", sum);
}
