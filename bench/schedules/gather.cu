// SPDX-License-Identifier: Apache-2.0
// sizes: N=16384 C=768 V=50000
// buffers: y:f32:N*C:out x:f32:V*C:in t:i32:N:below(50000)
constexpr int N = 16384, C = 768, V = 50000;

__global__ void gather(float *y, const float *x, const int *t, int n, int c) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n * c)
    y[k] = x[t[k / c] * c + k % c];
}
void run(float *y, const float *x, const int *t) {
  gather<<<(N * C + 255) / 256, 256>>>(y, x, t, N, C);
}
