// y = a x + y over a length that is no multiple of the block.
// mutant 1: off by one, the last element is missing -- G6
// mutant 2: off by one, one element too many -- G4
// mutant 3: swapped operands -- G6
// mutant 4: wrong stride -- G4 G6
// mutant 5: the bounds check is gone -- G4
// mutant 6: narrowed type -- G3
// mutant 7: wrong sign -- G6
// REQUIRES: long
#include "harness.h"
#include <cuda_fp16.h>

__global__ void saxpy(float a, const float *x, float *y, int n) {
#if VARIANT == 4
  int i = blockIdx.x * blockDim.x + threadIdx.x * 2;
#else
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#endif
#if VARIANT == 1
  if (i < n - 1)
#elif VARIANT == 2
  if (i <= n)
#elif VARIANT == 5
  if (true)
#else
  if (i < n)
#endif
#if VARIANT == 3
    y[i] = a * y[i] + x[i];
#elif VARIANT == 6
    y[i] = a * __half2float(__float2half(x[i])) + y[i];
#elif VARIANT == 7
    y[i] = a * x[i] - y[i];
#else
    y[i] = a * x[i] + y[i];
#endif
}

int main() {
  const int n = 1000;
  float *x = toDevice(randomVector<float>(n, 1)), *y = toDevice(randomVector<float>(n, 2));
  saxpy<<<(n + 255) / 256, 256>>>(1.7f, x, y, n);
  return finish(y, n);
}
