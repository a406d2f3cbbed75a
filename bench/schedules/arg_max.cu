// SPDX-License-Identifier: Apache-2.0
// sizes: N=8192 C=1024; N=200000 C=10
// buffers: y:i32:N:out x:f32:N*C:in
constexpr int N = 8192, C = 1024;

__global__ void argMax(int *y, const float *x, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float m = x[i * c];
  int at = 0;
  for (int j = 1; j < c; ++j)
    if (x[i * c + j] > m) {
      m = x[i * c + j];
      at = j;
    }
  y[i] = at;
}
void run(int *y, const float *x) { argMax<<<(N + 255) / 256, 256>>>(y, x, N, C); }
