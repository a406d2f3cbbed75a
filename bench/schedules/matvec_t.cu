// SPDX-License-Identifier: Apache-2.0
// sizes: N=4096 M=4096
// buffers: y:f32:M:out a:f32:N*M:in x:f32:N:in
constexpr int N = 4096, M = 4096;

__global__ void matvecT(float *y, const float *a, const float *x, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= m)
    return;
  float s = 0;
  for (int i = 0; i < n; ++i)
    s += a[i * m + j] * x[i];
  y[j] = s;
}
void run(float *y, const float *a, const float *x) {
  matvecT<<<(M + 255) / 256, 256>>>(y, a, x, N, M);
}
