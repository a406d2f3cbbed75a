// SPDX-License-Identifier: Apache-2.0
// sizes: B=64 M=128 N=128 K=64
// buffers: c:f32:B*M*N:out a:f32:B*M*K:in b:f32:B*K*N:in
constexpr int B = 64, M = 128, N = 128, K = 64;

__global__ void batchedMatmul(float *c, const float *a, const float *b, int batch, int m, int n,
                              int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z;
  if (i >= m || j >= n)
    return;
  float s = 0;
  for (int p = 0; p < k; ++p)
    s += a[(z * m + i) * k + p] * b[(z * k + p) * n + j];
  c[(z * m + i) * n + j] = s;
}
void run(float *c, const float *a, const float *b) {
  batchedMatmul<<<dim3((N + 15) / 16, (M + 15) / 16, B), dim3(16, 16)>>>(c, a, b, B, M, N, K);
}
