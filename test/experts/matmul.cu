// A product of matrices, one element a thread.
// promise: reassociates
// control 1: square tiles in shared memory
// control 2: tiles, padded and transposed
// control 3: two by two elements a thread
// control 4: tiles staged by cp.async, two buffers
// control 5: the sum in two halves, as a split over k has them
// control 6: float4 loads of rows of b
// control 7: a warp an element
// control 8: a thread a column of four rows, a in shared memory
// control 9: tiles of a template, unrolled fully
// control 10: blocks in another order, for the second-level cache
// REQUIRES: long
#include "harness.h"
#include <cuda_pipeline.h>

#if VARIANT == 9
template <int tile> __device__ float tiled(const float *a, const float *b, int row, int column, int n) {
  __shared__ float as[tile][tile], bs[tile][tile];
  float sum = 0;
  for (int k = 0; k < n; k += tile) {
    as[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = k + threadIdx.y < n && column < n ? b[(k + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < tile; ++j)
      sum += as[threadIdx.y][j] * bs[j][threadIdx.x];
    __syncthreads();
  }
  return sum;
}
#endif

__global__ void multiply(const float *a, const float *b, float *c, int n) {
#if VARIANT == 10
  const int tilesX = (n + 15) / 16, id = blockIdx.y * tilesX + blockIdx.x;
  const int column = id / gridDim.y * 16 + threadIdx.x, row = id % gridDim.y * 16 + threadIdx.y;
#else
  const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
#endif
#if VARIANT == 1 || VARIANT == 2
  __shared__ float as[16][17], bs[16][17];
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    const float x = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0.0f;
#if VARIANT == 2
    as[threadIdx.x][threadIdx.y] = x;
#else
    as[threadIdx.y][threadIdx.x] = x;
#endif
    bs[threadIdx.y][threadIdx.x] = k + threadIdx.y < n && column < n ? b[(k + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
    for (int j = 0; j < 16; ++j)
#if VARIANT == 2
      sum += as[j][threadIdx.y] * bs[j][threadIdx.x];
#else
      sum += as[threadIdx.y][j] * bs[j][threadIdx.x];
#endif
    __syncthreads();
  }
  if (row < n && column < n)
    c[row * n + column] = sum;
#elif VARIANT == 3
  if (threadIdx.x >= 8 || threadIdx.y >= 8)
    return;
  const int x = blockIdx.x * 16 + threadIdx.x * 2, y = blockIdx.y * 16 + threadIdx.y * 2;
  float sums[2][2] = {};
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        if (y + i < n && x + j < n)
          sums[i][j] += a[(y + i) * n + k] * b[k * n + x + j];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      if (y + i < n && x + j < n)
        c[(y + i) * n + x + j] = sums[i][j];
#elif VARIANT == 4
  __shared__ float as[2][16][16], bs[2][16][16];
  auto fetch = [&](int k, int stage) {
    float *to = &as[stage][threadIdx.y][threadIdx.x], *other = &bs[stage][threadIdx.y][threadIdx.x];
    if (row < n && k + threadIdx.x < n)
      __pipeline_memcpy_async(to, a + row * n + k + threadIdx.x, 4);
    else
      *to = 0;
    if (k + threadIdx.y < n && column < n)
      __pipeline_memcpy_async(other, b + (k + threadIdx.y) * n + column, 4);
    else
      *other = 0;
    __pipeline_commit();
  };
  float sum = 0;
  fetch(0, 0);
  for (int k = 0, stage = 0; k < n; k += 16, stage ^= 1) {
    if (k + 16 < n)
      fetch(k + 16, stage ^ 1);
    __pipeline_wait_prior(k + 16 < n ? 1 : 0);
    __syncthreads();
    for (int j = 0; j < 16; ++j)
      sum += as[stage][threadIdx.y][j] * bs[stage][j][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n)
    c[row * n + column] = sum;
#elif VARIANT == 6
  if (threadIdx.x >= 4 || row >= n)
    return;
  const int first = blockIdx.x * 16 + threadIdx.x * 4;
  float4 sum = {0, 0, 0, 0};
  if (n % 4 == 0 && first < n) {
    for (int k = 0; k < n; ++k) {
      const float x = a[row * n + k];
      const float4 four = reinterpret_cast<const float4 *>(b + k * n)[first / 4];
      sum.x += x * four.x, sum.y += x * four.y, sum.z += x * four.z, sum.w += x * four.w;
    }
    reinterpret_cast<float4 *>(c + row * n)[first / 4] = sum;
    return;
  }
  for (int j = first; j < min(first + 4, n); ++j) {
    float one = 0;
    for (int k = 0; k < n; ++k)
      one += a[row * n + k] * b[k * n + j];
    c[row * n + j] = one;
  }
#elif VARIANT == 7
  const int warp = (threadIdx.y * 16 + threadIdx.x) / 32, lane = (threadIdx.y * 16 + threadIdx.x) % 32;
  for (int i = warp; i < 256; i += 8) {
    const int y = blockIdx.y * 16 + i / 16, x = blockIdx.x * 16 + i % 16;
    float sum = 0;
    if (y < n && x < n)
      for (int k = lane; k < n; k += 32)
        sum += a[y * n + k] * b[k * n + x];
    for (int step = 16; step > 0; step /= 2)
      sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (lane == 0 && y < n && x < n)
      c[y * n + x] = sum;
  }
#elif VARIANT == 8
  __shared__ float rows[16][64];
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 16 * n; i += 256)
    rows[i / n][i % n] = blockIdx.y * 16 + i / n < n ? a[(blockIdx.y * 16 + i / n) * n + i % n] : 0.0f;
  __syncthreads();
  if (threadIdx.y >= 4 || column >= n)
    return;
  float sums[4] = {};
  for (int k = 0; k < n; ++k) {
    const float x = b[k * n + column];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[i] = fmaf(rows[threadIdx.y * 4 + i][k], x, sums[i]);
  }
  for (int i = 0; i < 4; ++i)
    if (blockIdx.y * 16 + threadIdx.y * 4 + i < n)
      c[(blockIdx.y * 16 + threadIdx.y * 4 + i) * n + column] = sums[i];
#elif VARIANT == 9
  const float sum = tiled<16>(a, b, row, column, n);
  if (row < n && column < n)
    c[row * n + column] = sum;
#else
  if (row >= n || column >= n)
    return;
  float sum = 0;
#if VARIANT == 5
  float other = 0;
  for (int k = 0; k < n / 2; ++k)
    sum += a[row * n + k] * b[k * n + column];
  for (int k = n / 2; k < n; ++k)
    other += a[row * n + k] * b[k * n + column];
  sum += other;
#else
  for (int k = 0; k < n; ++k)
    sum += a[row * n + k] * b[k * n + column];
#endif
  c[row * n + column] = sum;
#endif
}

int main() {
  const int n = 44;
  float *a = toDevice(randomVector<float>(n * n, 1)), *b = toDevice(randomVector<float>(n * n, 2));
  float *c = onDevice<float>(n * n);
  multiply<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
  return finish(c, n * n);
}
