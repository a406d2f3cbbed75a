// SPDX-License-Identifier: Apache-2.0
// sizes: N=8 C=3 H=128 W=128 K=32; N=8 C=64 H=56 W=56 K=64; N=2 C=256 H=14 W=14 K=256
// buffers: y:f32:N*K*H*W:out x:f32:N*C*H*W:in w:f32:K*C*9:in
constexpr int N = 8, C = 3, H = 128, W = 128, K = 32;

__global__ void conv2d(float *y, const float *x, const float *w, int n, int c, int h, int wd,
                       int k) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n * k * h * wd)
    return;
  int q = t % wd, p = t / wd % h, o = t / (wd * h) % k, b = t / (wd * h * k);
  float s = 0;
  for (int i = 0; i < c; ++i)
    for (int u = 0; u < 3; ++u)
      for (int v = 0; v < 3; ++v) {
        int r = p + u - 1, l = q + v - 1;
        if (r >= 0 && r < h && l >= 0 && l < wd)
          s += x[((b * c + i) * h + r) * wd + l] * w[((o * c + i) * 3 + u) * 3 + v];
      }
  y[t] = s;
}
void run(float *y, const float *x, const float *w) {
  conv2d<<<(N * K * H * W + 255) / 256, 256>>>(y, x, w, N, C, H, W, K);
}
