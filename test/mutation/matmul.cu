// C = A B in tiles of 16.
// mutant 1: the barrier after the products is dropped -- G4
// mutant 2: A is read transposed -- G4 G6
// mutant 3: the last tile is missing -- G6
// mutant 4: the sum starts at one -- G6
// mutant 5: the tail of k is not zeroed -- G4 G6
// mutant 6: accumulates in half -- G3
// REQUIRES: long
#include "harness.h"
#include <cuda_fp16.h>

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float ta[16][16], tb[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
#if VARIANT == 4
  float sum = 1;
#else
  float sum = 0;
#endif
#if VARIANT == 3
  for (int t = 0; t < k / 16; ++t) {
#else
  for (int t = 0; t < (k + 15) / 16; ++t) {
#endif
    int ka = t * 16 + threadIdx.x, kb = t * 16 + threadIdx.y;
#if VARIANT == 2
    ta[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[ka * m + row] : 0.0f;
#elif VARIANT == 5
    if (row < m && ka < k)
      ta[threadIdx.y][threadIdx.x] = a[row * k + ka];
#else
    ta[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
#endif
    tb[threadIdx.y][threadIdx.x] = col < n && kb < k ? b[kb * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i)
#if VARIANT == 6
      sum = __half2float(__hfma(__float2half(ta[threadIdx.y][i]), __float2half(tb[i][threadIdx.x]),
                                __float2half(sum)));
#else
      sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
#endif
#if VARIANT != 1
    __syncthreads();
#endif
  }
  if (row < m && col < n)
    c[row * n + col] = sum;
}

int main() {
  const int m = 37, n = 41, k = 50;
  float *a = toDevice(randomVector<float>(m * k, 6)), *b = toDevice(randomVector<float>(k * n, 7));
  float *c = onDevice<float>(m * n);
  matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
  return finish(c, m * n);
}
