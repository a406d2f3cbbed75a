// SPDX-License-Identifier: Apache-2.0
// sizes: M=1024 N=1024 K=1024; M=4096 N=4096 K=64; M=64 N=64 K=8192; M=16 N=4096 K=1024
// buffers: c:f32:M*N:out a:f32:M*K:in b:f32:K*N:in
constexpr int M = 1024, N = 1024, K = 1024;

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n)
    return;
  float s = 0;
  for (int p = 0; p < k; ++p)
    s += a[i * k + p] * b[p * n + j];
  c[i * n + j] = s;
}
void run(float *c, const float *a, const float *b) {
  matmul<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(c, a, b, M, N, K);
}
