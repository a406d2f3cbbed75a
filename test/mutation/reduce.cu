// Sums per block by a tree in shared memory.
// mutant 1: the barrier in the loop is dropped -- G4
// mutant 2: the barrier before the loop is dropped -- G4
// mutant 3: wrong initial value for the tail -- G6
// mutant 4: the tree starts one level too low -- G6
// mutant 5: the tree stops one level too early -- G6
// mutant 6: the tail is not guarded -- G4
// mutant 7: the wrong thread writes the result -- G6
// mutant 8: the barrier is in a branch -- G4
// control 9: the last levels by shuffles, in the same order
#include "harness.h"

__global__ void reduce(const float *x, float *sums, int n) {
  __shared__ float partial[128];
  int i = blockIdx.x * 128 + threadIdx.x;
#if VARIANT == 3
  partial[threadIdx.x] = i < n ? x[i] : 1.0f;
#elif VARIANT == 6
  partial[threadIdx.x] = x[i];
#else
  partial[threadIdx.x] = i < n ? x[i] : 0.0f;
#endif
#if VARIANT != 2
  __syncthreads();
#endif
#if VARIANT == 9
  if (threadIdx.x < 64)
    partial[threadIdx.x] += partial[threadIdx.x + 64];
  __syncthreads();
  if (threadIdx.x < 32) {
    float sum = partial[threadIdx.x] + partial[threadIdx.x + 32];
    for (int s = 16; s > 0; s >>= 1)
      sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x == 0)
      sums[blockIdx.x] = sum;
  }
#else
#if VARIANT == 4
  for (int s = 32; s > 0; s >>= 1) {
#elif VARIANT == 5
  for (int s = 64; s > 1; s >>= 1) {
#else
  for (int s = 64; s > 0; s >>= 1) {
#endif
#if VARIANT == 8
    if (threadIdx.x < s) {
      partial[threadIdx.x] += partial[threadIdx.x + s];
      __syncthreads();
    }
#else
    if (threadIdx.x < s)
      partial[threadIdx.x] += partial[threadIdx.x + s];
#if VARIANT != 1
    __syncthreads();
#endif
#endif
  }
#if VARIANT == 7
  if (threadIdx.x == 1)
    sums[blockIdx.x] = partial[1];
#else
  if (threadIdx.x == 0)
    sums[blockIdx.x] = partial[0];
#endif
#endif
}

int main() {
  const int n = 4000, blocks = (n + 127) / 128;
  float *x = toDevice(randomVector<float>(n, 3)), *sums = onDevice<float>(blocks);
  reduce<<<blocks, 128>>>(x, sums, n);
  return finish(sums, blocks);
}
