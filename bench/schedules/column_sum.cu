// SPDX-License-Identifier: Apache-2.0
// sizes: N=8192 C=1024; N=200 C=131072
// buffers: y:f32:C:out x:f32:N*C:in
constexpr int N = 8192, C = 1024;

__global__ void columnSum(float *y, const float *x, int n, int c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= c)
    return;
  float s = 0;
  for (int i = 0; i < n; ++i)
    s += x[i * c + j];
  y[j] = s;
}
void run(float *y, const float *x) { columnSum<<<(C + 255) / 256, 256>>>(y, x, N, C); }
