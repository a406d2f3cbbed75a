// Maps, columns and prefix sums as people write them, for bench/maps/variants.sh.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>
__global__ void transposef(float *out, const float *in, int n, int m) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m)
    out[j * n + i] = in[i * m + j];
}
__global__ void transposeh(__half *out, const __half *in, int n, int m) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m)
    out[j * n + i] = in[i * m + j];
}
__global__ void permute(float *out, const float *in, int b, int n, int h, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < b * n * h * d) {
    int bb = i / (n * h * d), r = i % (n * h * d), nn = r / (h * d), r2 = r % (h * d), hh = r2 / d,
        dd = r2 % d;
    out[((bb * h + hh) * d + dd) * n + nn] = in[i];
  }
}
__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}
__global__ void rowsum(float *y, const float *x, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < k; j++)
      s += x[i * k + j];
    y[i] = s;
  }
}
__global__ void gram3(float *a, float *r, float *q, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if ((j > k) && (j < 2048)) {
    r[k * 2048 + j] = 0.0f;
    for (int i = 0; i < 2048; i++)
      r[k * 2048 + j] += q[i * 2048 + k] * a[i * 2048 + j];
    for (int i = 0; i < 2048; i++)
      a[i * 2048 + j] -= q[i * 2048 + k] * r[k * 2048 + j];
  }
}
__global__ void sums(float *y, const float *x, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) {
    s += x[j];
    y[j] = s;
  }
}
__global__ void isums(int *y, const int *x, int n) {
  int s = 0;
  for (int j = 0; j < n; ++j) {
    s += x[j];
    y[j] = s;
  }
}
void runTf(float *out, const float *in, int n, int m) {
  transposef<<<dim3((m + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(out, in, n, m);
}
void runTh(__half *out, const __half *in, int n, int m) {
  transposeh<<<dim3((m + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(out, in, n, m);
}
void runP(float *out, const float *in, int b, int n, int h, int d) {
  permute<<<(b * n * h * d + 255) / 256, 256>>>(out, in, b, n, h, d);
}
void runS(float *y, const float *x, float a, int n) { scale<<<(n + 255) / 256, 256>>>(y, x, a, n); }
void runR(float *y, const float *x, int n, int k) { rowsum<<<(n + 255) / 256, 256>>>(y, x, n, k); }
void runG(float *a, float *r, float *q, int k) { gram3<<<8, 256>>>(a, r, q, k); }
void runC(float *y, const float *x, int n) { sums<<<1, 1>>>(y, x, n); }
void runI(int *y, const int *x, int n, cudaStream_t stream) { isums<<<1, 1, 0, stream>>>(y, x, n); }
