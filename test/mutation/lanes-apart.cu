// Sums per warp behind a branch, after which lanes need not come together by themselves.
// mutant 1: the lanes that happen to be together are summed -- G10
// mutant 2: the same behind a loop that ends sooner for some -- G10
// control 3: the warp is synchronised first
// control 4: whole warps take the branch
// control 5: any lanes that are together count for themselves
#include "harness.h"

__device__ int sumLanes(unsigned mask, int value) {
  for (int d = 16; d > 0; d >>= 1)
    value += __shfl_xor_sync(mask, value, d);
  return value;
}

__global__ void warpSums(const int *x, int *sums, int *counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, value = x[i];
  unsigned mask = 0xffffffffu;
#if VARIANT == 5
  if (value & 1) {
    unsigned lanes = __activemask();
    if (threadIdx.x % 32 == __ffs(lanes) - 1)
      atomicAdd(counts, __popc(lanes));
  }
#elif VARIANT == 2
  for (int k = 0; k < (value & 1); ++k)
    atomicAdd(counts, 1);
#elif VARIANT == 4
  if (__any_sync(mask, value & 1))
    atomicAdd(counts, value & 1);
#else
  if (value & 1)
    atomicAdd(counts, 1);
#endif
#if VARIANT == 3
  __syncwarp();
#endif
#if VARIANT >= 1 && VARIANT <= 4
  mask = __activemask();
#endif
  int sum = sumLanes(mask, value);
  if (threadIdx.x % 32 == 0)
    sums[i / 32] = sum;
}

int main() {
  const int n = 1024, warps = n / 32;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i)
    values[i] = int(i * 2654435761u >> 16) % 100;
  int *x = toDevice(values), *sums = onDevice<int>(warps + 1);
  cudaMemset(sums, 0, (warps + 1) * sizeof(int));
  warpSums<<<8, 128>>>(x, sums, sums + warps);
  return finish(sums, warps + 1);
}
