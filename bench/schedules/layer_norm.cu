// SPDX-License-Identifier: Apache-2.0
// sizes: N=8192 C=768; N=512 C=8192
// buffers: y:f32:N*C:out x:f32:N*C:in w:f32:C:in b:f32:C:in
constexpr int N = 8192, C = 768;

__global__ void layerNorm(float *y, const float *x, const float *w, const float *b, int n, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float m = 0, v = 0;
  for (int j = 0; j < c; ++j)
    m += x[i * c + j];
  m /= c;
  for (int j = 0; j < c; ++j)
    v += (x[i * c + j] - m) * (x[i * c + j] - m);
  float r = rsqrtf(v / c + 1e-5f);
  for (int j = 0; j < c; ++j)
    y[i * c + j] = (x[i * c + j] - m) * r * w[j] + b[j];
}
void run(float *y, const float *x, const float *w, const float *b) {
  layerNorm<<<(N + 127) / 128, 128>>>(y, x, w, b, N, C);
}
