// SPDX-License-Identifier: Apache-2.0
// sizes: N=64 H=512 W=512
// buffers: y:f32:N*W:out x:f32:N*H*W:in
constexpr int N = 64, H = 512, W = 512;

__global__ void planeSums(float *y, const float *x, int n, int h, int w) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n * w)
    return;
  float s = 0;
  for (int i = 0; i < h; ++i) {
    float v = x[(t / w * h + i) * w + t % w];
    s += v * v;
  }
  y[t] = sqrtf(s);
}
void run(float *y, const float *x) { planeSums<<<(N * W + 127) / 128, 128>>>(y, x, N, H, W); }
