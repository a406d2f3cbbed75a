// SPDX-License-Identifier: Apache-2.0
// sizes: N=16 C=64 H=112 W=112
// buffers: y:f32:N*C*(H/2)*(W/2):out x:f32:N*C*H*W:in
constexpr int N = 16, C = 64, H = 112, W = 112;

__global__ void maxPool(float *y, const float *x, int planes, int h, int w, int oh, int ow) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y, p = blockIdx.z;
  if (j >= ow)
    return;
  float m = -INFINITY;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      int r = i * 2 - 1 + a, c = j * 2 - 1 + b;
      if (r >= 0 && r < h && c >= 0 && c < w)
        m = fmaxf(m, x[(p * h + r) * w + c]);
    }
  y[(p * oh + i) * ow + j] = m;
}
void run(float *y, const float *x) {
  maxPool<<<dim3((W / 2 + 63) / 64, H / 2, N * C), 64>>>(y, x, N * C, H, W, H / 2, W / 2);
}
