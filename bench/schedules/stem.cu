// SPDX-License-Identifier: Apache-2.0
// sizes: N=4 H=112 W=112 K=64
// buffers: y:f32:N*K*(H/2)*(W/2):out x:f32:N*3*H*W:in w:f32:K*3*49:in
constexpr int N = 4, H = 112, W = 112, K = 64;

__global__ void stem(float *y, const float *x, const float *w, int n, int h, int wd, int k, int oh,
                     int ow) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n * k * oh * ow)
    return;
  int q = t % ow, p = t / ow % oh, o = t / (ow * oh) % k, b = t / (ow * oh * k);
  float s = 0;
  for (int c = 0; c < 3; ++c)
    for (int u = 0; u < 7; ++u)
      for (int v = 0; v < 7; ++v) {
        int r = p * 2 + u - 3, l = q * 2 + v - 3;
        if (r >= 0 && r < h && l >= 0 && l < wd)
          s += x[((b * 3 + c) * h + r) * wd + l] * w[((o * 3 + c) * 7 + u) * 7 + v];
      }
  y[t] = s;
}
void run(float *y, const float *x, const float *w) {
  stem<<<(N * K * (H / 2) * (W / 2) + 255) / 256, 256>>>(y, x, w, N, H, W, K, H / 2, W / 2);
}
