// Counts values in bins, per block in shared memory, then in global memory.
// mutant 1: the shared update is not atomic -- G4
// mutant 2: the bins are not cleared -- G4
// mutant 3: the barrier before the merge is dropped -- G4
// mutant 4: the barrier after clearing is dropped -- G4
// mutant 5: one bin too few -- G6
// mutant 6: the merge is not atomic -- G4
// control 7: counts in global memory directly
// REQUIRES: long
#include "harness.h"

__global__ void histogram(const int *values, int *bins, int n) {
#if VARIANT == 7
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[values[i] & 31], 1);
#else
  __shared__ int local[32];
#if VARIANT != 2
  if (threadIdx.x < 32)
    local[threadIdx.x] = 0;
#endif
#if VARIANT != 4
  __syncthreads();
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#if VARIANT == 5
    int bin = values[i] % 31;
#else
    int bin = values[i] & 31;
#endif
#if VARIANT == 1
    local[bin] += 1;
#else
    atomicAdd(&local[bin], 1);
#endif
  }
#if VARIANT != 3
  __syncthreads();
#endif
  if (threadIdx.x < 32)
#if VARIANT == 6
    bins[threadIdx.x] += local[threadIdx.x];
#else
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
#endif
#endif
}

int main() {
  const int n = 3000;
  std::vector<int> values(n);
  unsigned state = 9;
  for (int &value : values)
    value = (state = state * 1664525u + 1013904223u) >> 20;
  int *in = toDevice(values), *bins = toDevice(std::vector<int>(32, 0));
  histogram<<<4, 128>>>(in, bins, n);
  return finish(bins, 32);
}
