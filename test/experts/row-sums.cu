// Sums of rows, one row a thread in the original.
// promise: reassociates
// control 1: a warp a row, shuffles down
// control 2: a warp a row, butterfly, all lanes store the sum
// control 3: a block a row, halving in shared memory
// control 4: a block a row, warps first, their sums in shared memory
// control 5: cooperative groups: a tile of 32 and cg::reduce
// control 6: four partial sums in one thread
// control 7: float4 loads
// control 8: a template with the block's size, unrolled at its end
// control 9: inline PTX for loads and fused operations
// control 10: two shared arrays, one for each half of the row
// control 11: persistent blocks, rows by stride
// control 12: rows staged by cp.async, two stages
// control 13: sums of sixteen terms, added in turn
// control 14: a double for the sum
// control 15: pairs, added as a tree in registers
// control 16: shared memory of a size given at the launch
// control 17: a half warp a row, with masks
// control 18: a block a row, last steps on volatile-free warp code with __syncwarp
// REQUIRES: long
#include "harness.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

#if VARIANT == 8
template <int size> __device__ float blockSum(float value, float *parts) {
  parts[threadIdx.x] = value;
  __syncthreads();
#pragma unroll
  for (int half = size / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}
#endif

__global__ void rowSums(const float *a, float *y, int rows, int columns) {
#if VARIANT == 1 || VARIANT == 2
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = lane; k < columns; k += 32)
    sum += a[row * columns + k];
#if VARIANT == 1
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0)
    y[row] = sum;
#else
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
  y[row] = sum;
#endif
#elif VARIANT == 3
  __shared__ float parts[128];
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += blockDim.x)
    sum += a[blockIdx.x * columns + k];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = parts[0];
#elif VARIANT == 4
  __shared__ float warps[32];
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += blockDim.x)
    sum += a[blockIdx.x * columns + k];
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
    for (int step = 16; step > 0; step /= 2)
      sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0)
      y[blockIdx.x] = sum;
  }
#elif VARIANT == 5
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = tile.thread_rank(); k < columns; k += tile.size())
    sum += a[row * columns + k];
  sum = cg::reduce(tile, sum, cg::plus<float>());
  if (tile.thread_rank() == 0)
    y[row] = sum;
#elif VARIANT == 6
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  const float *mine = a + row * columns;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  int k = 0;
  for (; k + 3 < columns; k += 4) {
    s0 += mine[k];
    s1 += mine[k + 1];
    s2 += mine[k + 2];
    s3 += mine[k + 3];
  }
  for (; k < columns; ++k)
    s0 += mine[k];
  y[row] = (s0 + s1) + (s2 + s3);
#elif VARIANT == 7
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  if (columns % 4 == 0) {
    const float4 *mine = reinterpret_cast<const float4 *>(a + row * columns);
    for (int k = 0; k < columns / 4; ++k) {
      const float4 four = __ldg(mine + k);
      sum += (four.x + four.y) + (four.z + four.w);
    }
  } else {
    for (int k = 0; k < columns; ++k)
      sum += a[row * columns + k];
  }
  y[row] = sum;
#elif VARIANT == 8
  __shared__ float parts[128];
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += 128)
    sum += a[blockIdx.x * columns + k];
  sum = blockSum<128>(sum, parts);
  if (threadIdx.x == 0)
    y[blockIdx.x] = sum;
#elif VARIANT == 9
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float even = 0, odd = 0;
  for (int k = 0; k < columns; k += 2) {
    float x;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(a + row * columns + k));
    asm("fma.rn.f32 %0, %1, %2, %0;" : "+f"(even) : "f"(x), "f"(1.0f));
    if (k + 1 < columns)
      odd += a[row * columns + k + 1];
  }
  y[row] = even + odd;
#elif VARIANT == 10
  __shared__ float front[64], back[64];
  const int half = columns / 2;
  const bool isBack = threadIdx.x >= 64;
  const int lane = threadIdx.x % 64;
  float sum = 0;
  for (int k = (isBack ? half : 0) + lane; k < (isBack ? columns : half); k += 64)
    sum += a[blockIdx.x * columns + k];
  (isBack ? back : front)[lane] = sum;
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (lane < step)
      (isBack ? back : front)[lane] += (isBack ? back : front)[lane + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = front[0] + back[0];
#elif VARIANT == 11
  for (int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < rows; row += gridDim.x / 4 * (blockDim.x / 32)) {
    if (blockIdx.x >= gridDim.x / 4)
      break;
    float sum = 0;
    for (int k = threadIdx.x % 32; k < columns; k += 32)
      sum += a[row * columns + k];
    for (int step = 16; step > 0; step /= 2)
      sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0)
      y[row] = sum;
  }
#elif VARIANT == 12
  __shared__ float stage[2][128];
  __shared__ float parts[128];
  float sum = 0;
  const float *mine = a + blockIdx.x * columns;
  const int tiles = (columns + 127) / 128;
  auto fetch = [&](int tile) {
    const int k = tile * 128 + threadIdx.x;
    if (k < columns)
      __pipeline_memcpy_async(&stage[tile % 2][threadIdx.x], mine + k, sizeof(float));
    __pipeline_commit();
  };
  fetch(0);
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles)
      fetch(tile + 1);
    __pipeline_wait_prior(tile + 1 < tiles ? 1 : 0);
    __syncthreads();
    if (tile * 128 + threadIdx.x < columns)
      sum += stage[tile % 2][threadIdx.x];
    __syncthreads();
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = parts[0];
#elif VARIANT == 13
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = 0; k < columns; k += 16) {
    float part = 0;
    for (int j = k; j < min(k + 16, columns); ++j)
      part += a[row * columns + j];
    sum += part;
  }
  y[row] = sum;
#elif VARIANT == 14
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  double sum = 0;
  for (int k = 0; k < columns; ++k)
    sum += a[row * columns + k];
  y[row] = static_cast<float>(sum);
#elif VARIANT == 15
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = 0; k < columns; k += 8) {
    float x[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
      x[j] = k + j < columns ? a[row * columns + k + j] : 0.0f;
    sum += ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
  }
  y[row] = sum;
#elif VARIANT == 16
  extern __shared__ float parts[];
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += blockDim.x)
    sum += a[blockIdx.x * columns + k];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half)
      parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[blockIdx.x] = parts[0];
#elif VARIANT == 17
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 16;
  const unsigned mask = 0xffffu << (threadIdx.x % 32 / 16 * 16);
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = lane; k < columns; k += 16)
    sum += a[row * columns + k];
  for (int step = 8; step > 0; step /= 2)
    sum += __shfl_down_sync(mask, sum, step, 16);
  if (lane == 0)
    y[row] = sum;
#elif VARIANT == 18
  __shared__ float parts[128];
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += blockDim.x)
    sum += a[blockIdx.x * columns + k];
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x < 64)
    parts[threadIdx.x] += parts[threadIdx.x + 64];
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int step = 32; step > 0; step /= 2) {
      const float other = threadIdx.x < step ? parts[threadIdx.x + step] : 0.0f;
      __syncwarp();
      parts[threadIdx.x] += other;
      __syncwarp();
    }
    if (threadIdx.x == 0)
      y[blockIdx.x] = parts[0];
  }
#else
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = 0; k < columns; ++k)
    sum += a[row * columns + k];
  y[row] = sum;
#endif
}

int main() {
  const int rows = 40, columns = 300;
  float *a = toDevice(randomVector<float>(rows * columns, 1));
  float *y = onDevice<float>(rows);
  // As many blocks and as much shared memory as the widest of the variants takes.
  rowSums<<<rows, 128, 128 * sizeof(float)>>>(a, y, rows, columns);
  return finish(y, rows);
}
