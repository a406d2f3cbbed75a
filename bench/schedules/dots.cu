// SPDX-License-Identifier: Apache-2.0
// sizes: N=100000 D=64
// buffers: y:f32:N:out a:f32:N*D:in b:f32:N*D:in
constexpr int N = 100000, D = 64;

__global__ void dots(float *y, const float *a, const float *b, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0, p = 0, q = 0;
  for (int j = 0; j < d; ++j) {
    s += a[i * d + j] * b[i * d + j];
    p += a[i * d + j] * a[i * d + j];
    q += b[i * d + j] * b[i * d + j];
  }
  y[i] = s * rsqrtf(p * q + 1e-8f);
}
void run(float *y, const float *a, const float *b) {
  dots<<<(N + 255) / 256, 256>>>(y, a, b, N, D);
}
