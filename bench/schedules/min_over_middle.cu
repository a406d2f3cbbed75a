// SPDX-License-Identifier: Apache-2.0
// sizes: N=128 M=256 K=256
// buffers: y:f32:N*K:out x:f32:N*M*K:in
constexpr int N = 128, M = 256, K = 256;

__global__ void minOverMiddle(float *y, const float *x, int n, int m, int k) {
  int q = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (q >= k)
    return;
  float s = INFINITY;
  for (int j = 0; j < m; ++j)
    s = fminf(s, x[(i * m + j) * k + q]);
  y[i * k + q] = s;
}
void run(float *y, const float *x) {
  minOverMiddle<<<dim3((K + 127) / 128, N), 128>>>(y, x, N, M, K);
}
