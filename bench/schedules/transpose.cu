// SPDX-License-Identifier: Apache-2.0
// sizes: N=4096 M=4096
// buffers: y:f32:N*M:out x:f32:N*M:in
constexpr int N = 4096, M = 4096;

__global__ void transpose(float *y, const float *x, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < m)
    y[j * n + i] = x[i * m + j];
}
void run(float *y, const float *x) {
  transpose<<<dim3((M + 15) / 16, (N + 15) / 16), dim3(16, 16)>>>(y, x, N, M);
}
