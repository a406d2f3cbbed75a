// Differences of shifted values. Rounding both alike moves them alike: in half of the elements none of the directed
// runs shows that anything is rounded, and only a mixture of directions does.
// promise: reassociates
// mutant 1: the subtrahend of the next element -- G4 G6
// mutant 2: a hundredth is added -- G6
// mutant 3: shifted so far that a digit more is lost -- G6
// control 4: without the shift
// REQUIRES: long
#include "harness.h"

__global__ void difference(const float *x, const float *z, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
#if VARIANT == 1
  y[i] = (x[i] + 10000.0f) - (z[i + 1] + 10000.0f);
#elif VARIANT == 2
  y[i] = (x[i] + 10000.0f) - (z[i] + 10000.0f) + 0.01f;
#elif VARIANT == 3
  y[i] = (x[i] + 1000000.0f) - (z[i] + 1000000.0f);
#elif VARIANT == 4
  y[i] = x[i] - z[i];
#else
  y[i] = (x[i] + 10000.0f) - (z[i] + 10000.0f);
#endif
}

int main() {
  const int n = 3000;
  float *x = toDevice(randomVector<float>(n, 16)), *z = toDevice(randomVector<float>(n, 17)), *y = onDevice<float>(n);
  difference<<<24, 128>>>(x, z, y, n);
  return finish(y, n);
}
