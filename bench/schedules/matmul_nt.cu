// SPDX-License-Identifier: Apache-2.0
// sizes: M=2048 N=1024 K=512; M=100 N=1000 K=300
// buffers: c:f32:M*N:out a:f32:M*K:in b:f32:N*K:in
constexpr int M = 2048, N = 1024, K = 512;

__global__ void matmulNT(float *c, const float *a, const float *b, int m, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n)
    return;
  float s = 0;
  for (int p = 0; p < k; ++p)
    s += a[i * k + p] * b[j * k + p];
  c[i * n + j] = s;
}
void run(float *c, const float *a, const float *b) {
  matmulNT<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(c, a, b, M, N, K);
}
