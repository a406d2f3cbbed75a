// SPDX-License-Identifier: Apache-2.0
// sizes: N=64 C=16 L=4096 K=32
// buffers: y:f32:N*K*(L-4):out x:f32:N*C*L:in w:f32:K*C*5:in
constexpr int N = 64, C = 16, L = 4096, K = 32;

__global__ void conv1d(float *y, const float *x, const float *w, int n, int c, int l, int k) {
  int q = blockIdx.x * blockDim.x + threadIdx.x, o = blockIdx.y, b = blockIdx.z;
  if (q >= l - 4)
    return;
  float s = 0;
  for (int i = 0; i < c; ++i)
    for (int u = 0; u < 5; ++u)
      s += x[(b * c + i) * l + q + u] * w[(o * c + i) * 5 + u];
  y[(b * k + o) * (l - 4) + q] = s;
}
void run(float *y, const float *x, const float *w) {
  conv1d<<<dim3((L - 4 + 127) / 128, K, N), 128>>>(y, x, w, N, C, L, K);
}
