// SPDX-License-Identifier: Apache-2.0
// sizes: N=4096 C=4096
// buffers: y:f32:N*C:out x:f32:N*C:in d:f32:N:in
constexpr int N = 4096, C = 4096;

__global__ void scaleRows(float *y, const float *x, const float *d, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  for (int j = 0; j < c; ++j)
    y[i * c + j] = d[i] * x[i * c + j];
}
void run(float *y, const float *x, const float *d) {
  scaleRows<<<(N + 127) / 128, 128>>>(y, x, d, N, C);
}
