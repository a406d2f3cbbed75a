// SPDX-License-Identifier: Apache-2.0
// sizes: N=8192 C=1024; N=65536 C=32; N=64 C=32768
// buffers: y:f32:N*C:out x:f32:N*C:in
constexpr int N = 8192, C = 1024;

__global__ void softmax(float *y, const float *x, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float m = -INFINITY, s = 0;
  for (int j = 0; j < c; ++j)
    m = fmaxf(m, x[i * c + j]);
  for (int j = 0; j < c; ++j) {
    float e = expf(x[i * c + j] - m);
    y[i * c + j] = e;
    s += e;
  }
  for (int j = 0; j < c; ++j)
    y[i * c + j] /= s;
}
void run(float *y, const float *x) { softmax<<<(N + 63) / 64, 64>>>(y, x, N, C); }
