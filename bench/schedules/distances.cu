// SPDX-License-Identifier: Apache-2.0
// sizes: N=2048 M=2048 D=64; N=20000 M=16 D=8
// buffers: y:f32:N*M:out a:f32:N*D:in b:f32:M*D:in
constexpr int N = 2048, M = 2048, D = 64;

__global__ void distances(float *y, const float *a, const float *b, int n, int m, int d) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= m)
    return;
  float s = 0;
  for (int k = 0; k < d; ++k)
    s += (a[i * d + k] - b[j * d + k]) * (a[i * d + k] - b[j * d + k]);
  y[i * m + j] = s;
}
void run(float *y, const float *a, const float *b) {
  distances<<<dim3((M + 15) / 16, (N + 15) / 16), dim3(16, 16)>>>(y, a, b, N, M, D);
}
