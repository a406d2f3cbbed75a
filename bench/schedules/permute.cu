// SPDX-License-Identifier: Apache-2.0
// sizes: B=8 T=1024 H=12 D=64
// buffers: y:f32:B*T*H*D:out x:f32:B*T*H*D:in
constexpr int B = 8, T = 1024, H = 12, D = 64;

__global__ void permute(float *y, const float *x, int b, int t, int h, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= b * t * h * d)
    return;
  int e = i % d, k = i / d % h, j = i / (d * h) % t, a = i / (d * h * t);
  y[((a * h + k) * t + j) * d + e] = x[i];
}
void run(float *y, const float *x) {
  permute<<<(B * T * H * D + 255) / 256, 256>>>(y, x, B, T, H, D);
}
