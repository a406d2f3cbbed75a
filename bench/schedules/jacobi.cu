// SPDX-License-Identifier: Apache-2.0
// sizes: N=4096
// buffers: y:f32:N*N:out x:f32:N*N:in
constexpr int N = 4096;

__global__ void jacobi(float *y, const float *x, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
    y[i * n + j] = 0.2f * (x[i * n + j] + x[i * n + j - 1] + x[i * n + j + 1] + x[(i - 1) * n + j] +
                           x[(i + 1) * n + j]);
}
void run(float *y, const float *x) {
  jacobi<<<dim3((N + 31) / 32, (N + 7) / 8), dim3(32, 8)>>>(y, x, N);
}
