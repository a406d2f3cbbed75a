// SPDX-License-Identifier: Apache-2.0
// sizes: N=256
// buffers: y:f32:N*N*N:out x:f32:N*N*N:in
constexpr int N = 256;

__global__ void heat3d(float *y, const float *x, int n) {
  int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
      i = blockIdx.z;
  if (i > 0 && i < n - 1 && j > 0 && j < n - 1 && k > 0 && k < n - 1) {
    int p = (i * n + j) * n + k;
    y[p] = 0.4f * x[p] +
           0.1f * (x[p - 1] + x[p + 1] + x[p - n] + x[p + n] + x[p - n * n] + x[p + n * n]);
  }
}
void run(float *y, const float *x) {
  heat3d<<<dim3((N + 31) / 32, (N + 7) / 8, N), dim3(32, 8)>>>(y, x, N);
}
