// Sums per warp by shuffles.
// mutant 1: the mask leaves half of the warp out -- G4 G6
// mutant 2: the first step is missing -- G6
// mutant 3: up instead of down -- G6
// mutant 4: the wrong lane writes -- G6
// mutant 5: lanes past the end do not take part -- G4 G6
#include "harness.h"

__global__ void warpSum(const float *x, float *sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT == 5
  if (i >= n)
    return;
  float value = x[i];
#else
  float value = i < n ? x[i] : 0.0f;
#endif
#if VARIANT == 1
  const unsigned mask = 0x0000ffffu;
#else
  const unsigned mask = 0xffffffffu;
#endif
#if VARIANT == 2
  for (int d = 8; d > 0; d >>= 1)
#else
  for (int d = 16; d > 0; d >>= 1)
#endif
#if VARIANT == 3
    value += __shfl_up_sync(mask, value, d);
#else
    value += __shfl_down_sync(mask, value, d);
#endif
#if VARIANT == 4
  if (threadIdx.x % 32 == 16)
#else
  if (threadIdx.x % 32 == 0)
#endif
    sums[i / 32] = value;
}

int main() {
  const int n = 1000, warps = 32;
  float *x = toDevice(randomVector<float>(n, 8)), *sums = onDevice<float>(warps);
  warpSum<<<warps / 4, 128>>>(x, sums, n);
  return finish(sums, warps);
}
