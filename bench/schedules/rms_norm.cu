// SPDX-License-Identifier: Apache-2.0
// sizes: N=4096 C=4096; N=32768 C=128
// buffers: y:f32:N*C:out x:f32:N*C:in w:f32:C:in
constexpr int N = 4096, C = 4096;

__global__ void rmsNorm(float *y, const float *x, const float *w, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j < c; ++j)
    s += x[i * c + j] * x[i * c + j];
  float r = rsqrtf(s / c + 1e-6f);
  for (int j = 0; j < c; ++j)
    y[i * c + j] = x[i * c + j] * r * w[j];
}
void run(float *y, const float *x, const float *w) {
  rmsNorm<<<(N + 127) / 128, 128>>>(y, x, w, N, C);
}
