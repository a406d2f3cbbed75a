// SPDX-License-Identifier: Apache-2.0
// sizes: N=8192
// buffers: y:f32:N:out a:f32:N*N:in x:f32:N:in
constexpr int N = 8192;

__global__ void triangle(float *y, const float *a, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j <= i; ++j)
    s += a[i * n + j] * x[j];
  y[i] = s;
}
void run(float *y, const float *a, const float *x) {
  triangle<<<(N + 127) / 128, 128>>>(y, a, x, N);
}
