// A softmax of each row in three passes of one thread; then its logarithm's mean, as a loss has it.
// promise: reassociates
// control 1: online: maximum and sum in one pass
// control 2: a warp a row
// control 4: the reciprocal of the sum, multiplied
// control 5: a block a row with two shared arrays
// control 6: an online pair for each lane, merged by shuffles
// control 7: exponentials kept in registers
// control 8: float4 loads and stores
// control 9: the maximum by __reduce_max_sync of ordered bits
// control 10: all lanes of a warp store the row's loss
// REQUIRES: long
#include "harness.h"
#include <cfloat>

__device__ float warpMaximum(float value) {
  for (int step = 16; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}
__device__ float warpSum(float value) {
  for (int step = 16; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void softmax(const float *x, float *y, float *loss, int rows, int columns) {
#if VARIANT == 2 || VARIANT == 6 || VARIANT == 7 || VARIANT == 9 || VARIANT == 10
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  const float *mine = x + row * columns;
#if VARIANT == 6
  float largest = -FLT_MAX, sum = 0;
  for (int k = lane; k < columns; k += 32) {
    const float next = fmaxf(largest, mine[k]);
    sum = sum * expf(largest - next) + expf(mine[k] - next);
    largest = next;
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, largest, step);
    const float otherSum = __shfl_xor_sync(0xffffffffu, sum, step);
    const float next = fmaxf(largest, other);
    sum = sum * expf(largest - next) + otherSum * expf(other - next);
    largest = next;
  }
#else
  float largest = -FLT_MAX;
  for (int k = lane; k < columns; k += 32)
    largest = fmaxf(largest, mine[k]);
#if VARIANT == 9
  const int bits = __float_as_int(largest);
  const int most = __reduce_max_sync(0xffffffffu, bits < 0 ? bits ^ 0x7fffffff : bits);
  largest = __int_as_float(most < 0 ? most ^ 0x7fffffff : most);
#else
  largest = warpMaximum(largest);
#endif
  float sum = 0;
#if VARIANT == 7
  float kept[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    kept[j] = lane + 32 * j < columns ? expf(mine[lane + 32 * j] - largest) : 0.0f;
    sum += kept[j];
  }
#else
  for (int k = lane; k < columns; k += 32)
    sum += expf(mine[k] - largest);
#endif
  sum = warpSum(sum);
#endif
#if VARIANT == 7
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (lane + 32 * j < columns)
      y[row * columns + lane + 32 * j] = kept[j] / sum;
#else
  for (int k = lane; k < columns; k += 32)
    y[row * columns + k] = expf(mine[k] - largest) / sum;
#endif
#if VARIANT == 10
  loss[row] = logf(sum) + largest;
#else
  if (lane == 0)
    loss[row] = logf(sum) + largest;
#endif
#elif VARIANT == 5
  __shared__ float maxima[64], sums[64];
  const float *mine = x + blockIdx.x * columns;
  float largest = -FLT_MAX;
  for (int k = threadIdx.x; k < columns; k += 64)
    largest = fmaxf(largest, mine[k]);
  maxima[threadIdx.x] = largest;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half)
      maxima[threadIdx.x] = fmaxf(maxima[threadIdx.x], maxima[threadIdx.x + half]);
    __syncthreads();
  }
  largest = maxima[0];
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += 64)
    sum += expf(mine[k] - largest);
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half)
      sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  for (int k = threadIdx.x; k < columns; k += 64)
    y[blockIdx.x * columns + k] = expf(mine[k] - largest) / sums[0];
  if (threadIdx.x == 0)
    loss[blockIdx.x] = logf(sums[0]) + largest;
#else
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  const float *mine = x + row * columns;
#if VARIANT == 1
  float largest = -FLT_MAX, sum = 0;
  for (int k = 0; k < columns; ++k) {
    if (mine[k] > largest) {
      sum *= expf(largest - mine[k]);
      largest = mine[k];
    }
    sum += expf(mine[k] - largest);
  }
  for (int k = 0; k < columns; ++k)
    y[row * columns + k] = expf(mine[k] - largest) / sum;
#elif VARIANT == 8
  float largest = -FLT_MAX, sum = 0;
  const float4 *fours = reinterpret_cast<const float4 *>(mine);
  for (int k = 0; k < columns / 4; ++k) {
    const float4 v = fours[k];
    largest = fmaxf(fmaxf(largest, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
  }
  for (int k = 0; k < columns / 4; ++k) {
    const float4 v = fours[k];
    sum += expf(v.x - largest) + expf(v.y - largest) + expf(v.z - largest) + expf(v.w - largest);
  }
  for (int k = 0; k < columns / 4; ++k) {
    const float4 v = fours[k];
    reinterpret_cast<float4 *>(y + row * columns)[k] =
        make_float4(expf(v.x - largest) / sum, expf(v.y - largest) / sum, expf(v.z - largest) / sum, expf(v.w - largest) / sum);
  }
#else
  float largest = -FLT_MAX;
  for (int k = 0; k < columns; ++k)
    largest = fmaxf(largest, mine[k]);
  float sum = 0;
  for (int k = 0; k < columns; ++k)
    sum += expf(mine[k] - largest);
#if VARIANT == 4
  const float factor = 1.0f / sum;
  for (int k = 0; k < columns; ++k)
    y[row * columns + k] = expf(mine[k] - largest) * factor;
#else
  for (int k = 0; k < columns; ++k)
    y[row * columns + k] = expf(mine[k] - largest) / sum;
#endif
#endif
  loss[row] = logf(sum) + largest;
#endif
}

int main() {
  const int rows = 48, columns = 100;
  float *x = toDevice(randomVector<float>(rows * columns, 1));
  float *y = onDevice<float>(rows * columns), *loss = onDevice<float>(rows);
  softmax<<<rows, 64>>>(x, y, loss, rows, columns);
  return finish(y, rows * columns) + finish(loss, rows);
}
