// SPDX-License-Identifier: Apache-2.0
// sizes: N=16 C=32 S=16384
// buffers: y:f32:N*C*S:out x:f32:N*C*S:in
constexpr int N = 16, C = 32, S = 16384;

__global__ void channelSoftmax(float *y, const float *x, int n, int c, int s) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n * s)
    return;
  const float *from = x + t / s * c * s + t % s;
  float *to = y + t / s * c * s + t % s;
  float m = -INFINITY, sum = 0;
  for (int k = 0; k < c; ++k)
    m = fmaxf(m, from[k * s]);
  for (int k = 0; k < c; ++k)
    sum += expf(from[k * s] - m);
  for (int k = 0; k < c; ++k)
    to[k * s] = expf(from[k * s] - m) / sum;
}
void run(float *y, const float *x) { channelSoftmax<<<(N * S + 255) / 256, 256>>>(y, x, N, C, S); }
