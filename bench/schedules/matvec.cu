// SPDX-License-Identifier: Apache-2.0
// sizes: N=8192 M=8192; N=300 M=65536
// buffers: y:f32:N:out a:f32:N*M:in x:f32:M:in
constexpr int N = 8192, M = 8192;

__global__ void matvec(float *y, const float *a, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j < m; ++j)
    s += a[i * m + j] * x[j];
  y[i] = s;
}
void run(float *y, const float *a, const float *x) {
  matvec<<<(N + 127) / 128, 128>>>(y, a, x, N, M);
}
