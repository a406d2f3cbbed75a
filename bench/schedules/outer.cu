// SPDX-License-Identifier: Apache-2.0
// sizes: N=8192 M=8192
// buffers: y:f32:N*M:out a:f32:N:in b:f32:M:in
constexpr int N = 8192, M = 8192;

__global__ void outer(float *y, const float *a, const float *b, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  for (int j = 0; j < m; ++j)
    y[i * m + j] = a[i] * b[j];
}
void run(float *y, const float *a, const float *b) {
  outer<<<(N + 127) / 128, 128>>>(y, a, b, N, M);
}
