// SPDX-License-Identifier: Apache-2.0
// sizes: N=1<<24; N=1<<18
// buffers: y:f32:N:out x:f32:N:in
constexpr int N = 1 << 24;

__global__ void gelu(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  }
}
void run(float *y, const float *x) { gelu<<<(N + 255) / 256, 256>>>(y, x, N); }
