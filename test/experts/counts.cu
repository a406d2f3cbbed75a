// How often each of 64 values stands in an array: whole numbers, the same in every order.
// control 1: counts of a block in shared memory first
// control 2: lanes that agree are counted at once
// control 3: a loop over the grid
// control 4: four values a thread by int4
// control 5: a counter for each warp of the block
// control 6: counts of a thread in packed bytes
// control 7: a thread a value
// control 8: shared memory cleared and written by loops over uint4
// REQUIRES: long
#include "harness.h"

__global__ void count(const int *values, unsigned *counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT == 1 || VARIANT == 8
  __shared__ __align__(16) unsigned mine[64];
#if VARIANT == 8
  if (threadIdx.x < 16)
    reinterpret_cast<uint4 *>(mine)[threadIdx.x] = make_uint4(0, 0, 0, 0);
#else
  if (threadIdx.x < 64)
    mine[threadIdx.x] = 0;
#endif
  __syncthreads();
  if (i < n)
    atomicAdd(&mine[values[i] & 63], 1u);
  __syncthreads();
  if (threadIdx.x < 64 && mine[threadIdx.x])
    atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
#elif VARIANT == 2
  const unsigned active = __ballot_sync(0xffffffffu, i < n);
  if (i >= n)
    return;
  const unsigned peers = __match_any_sync(active, values[i] & 63);
  if (static_cast<int>(threadIdx.x % 32) == __ffs(peers) - 1)
    atomicAdd(&counts[values[i] & 63], __popc(peers));
#elif VARIANT == 3
  for (int k = i; k < n; k += 2 * blockDim.x)
    if (blockIdx.x < 2)
      atomicAdd(&counts[values[k] & 63], 1u);
#elif VARIANT == 4
  if (n % 4 == 0) {
    if (i < n / 4) {
      const int4 four = reinterpret_cast<const int4 *>(values)[i];
      atomicAdd(&counts[four.x & 63], 1u);
      atomicAdd(&counts[four.y & 63], 1u);
      atomicAdd(&counts[four.z & 63], 1u);
      atomicAdd(&counts[four.w & 63], 1u);
    }
  } else if (i < n) {
    atomicAdd(&counts[values[i] & 63], 1u);
  }
#elif VARIANT == 5
  __shared__ unsigned warps[4][64];
  for (int k = threadIdx.x; k < 256; k += blockDim.x)
    warps[k / 64][k % 64] = 0;
  __syncthreads();
  if (i < n)
    atomicAdd(&warps[threadIdx.x / 32][values[i] & 63], 1u);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&counts[threadIdx.x], warps[0][threadIdx.x] + warps[1][threadIdx.x] + warps[2][threadIdx.x] + warps[3][threadIdx.x]);
#elif VARIANT == 6
  __shared__ unsigned char mine[64][128];
  for (int value = 0; value < 64; ++value)
    mine[value][threadIdx.x] = 0;
  if (i < n)
    ++mine[values[i] & 63][threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 64) {
    unsigned sum = 0;
    for (int k = 0; k < 128; ++k)
      sum += mine[threadIdx.x][k];
    atomicAdd(&counts[threadIdx.x], sum);
  }
#elif VARIANT == 7
  if (blockIdx.x > 0 || threadIdx.x >= 64)
    return;
  unsigned sum = 0;
  for (int k = 0; k < n; ++k)
    sum += (values[k] & 63) == static_cast<int>(threadIdx.x);
  counts[threadIdx.x] += sum;
#else
  if (i < n)
    atomicAdd(&counts[values[i] & 63], 1u);
#endif
}

int main() {
  const int n = 1000;
  std::vector<int> values(n);
  unsigned seed = 5;
  for (int &value : values)
    value = static_cast<int>((uniform(seed) + 0.5f) * 64);
  int *input = toDevice(values);
  unsigned *counts = toDevice(std::vector<unsigned>(64, 0));
  count<<<(n + 127) / 128, 128>>>(input, counts, n);
  return finish(counts, 64);
}
