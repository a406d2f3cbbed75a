// SPDX-License-Identifier: Apache-2.0
// sizes: N=16384; N=2048
// buffers: a:f32:N*3:out p:f32:N*3:in
constexpr int N = 16384;

__global__ void nbody(float *a, const float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; ++j) {
    float dx = p[3 * j] - p[3 * i], dy = p[3 * j + 1] - p[3 * i + 1],
          dz = p[3 * j + 2] - p[3 * i + 2];
    float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = r * r * r;
    ax += dx * f;
    ay += dy * f;
    az += dz * f;
  }
  a[3 * i] = ax;
  a[3 * i + 1] = ay;
  a[3 * i + 2] = az;
}
void run(float *a, const float *p) { nbody<<<(N + 255) / 256, 256>>>(a, p, N); }
