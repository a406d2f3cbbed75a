// SPDX-License-Identifier: Apache-2.0
// sizes: N=16 C=64 H=112 W=112
// buffers: y:f32:N*C*H*W:out x:f32:N*C*H*W:in w:f32:C*9:in
constexpr int N = 16, C = 64, H = 112, W = 112;

__global__ void depthwise(float *y, const float *x, const float *w, int n, int c, int h, int wd) {
  int q = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z;
  if (q >= wd || p >= h)
    return;
  int k = z % c;
  float s = 0;
  for (int u = 0; u < 3; ++u)
    for (int v = 0; v < 3; ++v) {
      int r = p + u - 1, l = q + v - 1;
      if (r >= 0 && r < h && l >= 0 && l < wd)
        s += x[(z * h + r) * wd + l] * w[k * 9 + u * 3 + v];
    }
  y[(z * h + p) * wd + q] = s;
}
void run(float *y, const float *x, const float *w) {
  depthwise<<<dim3((W + 31) / 32, (H + 7) / 8, N * C), dim3(32, 8)>>>(y, x, w, N, C, H, W);
}
