// SPDX-License-Identifier: Apache-2.0
// sizes: N=50000 C=100
// buffers: y:f32:N:out x:f32:N*C:in
constexpr int N = 50000, C = 100;

__global__ void rowMin(float *y, const float *x, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float m = x[i * c];
  for (int j = 1; j < c; ++j)
    m = fminf(m, x[i * c + j]);
  y[i] = m;
}
void run(float *y, const float *x) { rowMin<<<(N + 255) / 256, 256>>>(y, x, N, C); }
