// SPDX-License-Identifier: Apache-2.0
// sizes: M=64 N=64 K=16384; M=128 N=256 K=4096; M=16 N=1024 K=4096
// buffers: c:f32:M*N:out a:f32:M*K:in b:f32:K*N:in
constexpr int M = 64, N = 64, K = 16384;

__global__ void longProducts(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float s = 0;
  for (int i = 0; i < k; ++i)
    s += a[row * k + i] * b[i * n + col];
  c[row * n + col] = fmaxf(s, 0.0f);
}
void run(float *c, const float *a, const float *b) {
  longProducts<<<dim3((N + 31) / 32, (M + 7) / 8), dim3(32, 8)>>>(c, a, b, M, N, K);
}
