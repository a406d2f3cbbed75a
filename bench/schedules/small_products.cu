// SPDX-License-Identifier: Apache-2.0
// sizes: B=512 M=32
// buffers: c:f32:B*M*M:out a:f32:B*M*M:in b:f32:B*M*M:in
constexpr int B = 512, M = 32;

__global__ void smallProducts(float *c, const float *a, const float *b, int m) {
  int j = threadIdx.x, i = threadIdx.y, z = blockIdx.x;
  float s = 0;
  for (int p = 0; p < m; ++p)
    s += a[(z * m + i) * m + p] * b[(z * m + p) * m + j];
  c[(z * m + i) * m + j] = s;
}
void run(float *c, const float *a, const float *b) { smallProducts<<<B, dim3(M, M)>>>(c, a, b, M); }
