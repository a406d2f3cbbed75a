// Differences of two values that one operation of the code has shifted. In three elements no direction of that operation
// shows that anything is rounded, as both values move alike; only directions drawn at each execution do.
// promise: reassociates
// mutant 1: in these elements the shift moves one of the values -- G6
// mutant 2: other elements are off as little -- G6
// control 3: without the shift
#include "harness.h"

/// The first of \p count = 2 shifted values without the second.
__device__ float shiftedDifference(float x, float z, int count) {
  float difference = 0;
#pragma unroll 1
  for (int k = 0; k < count; ++k) {
    float shifted = (k ? z : x) + 32.0f;
    difference = k ? difference - shifted : shifted;
  }
  return difference;
}

__global__ void oneAddition(const int *a, const int *b, float *y, int n, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = a[i] * 0x1p-22f, z = b[i] * 0x1p-22f;
#if VARIANT == 1
  y[i] = x - z + (i % 1000 == 7 ? 0x1p-16f : 0.0f);
#elif VARIANT == 2
  y[i] = shiftedDifference(x, z, count) + (i % 1000 == 8 ? 0x1p-19f : 0.0f);
#elif VARIANT == 3
  y[i] = x - z;
#else
  y[i] = shiftedDifference(x, z, count);
#endif
}

int main() {
  const int n = 3000, one = 1 << 22;
  std::vector<int> x(n), z(n);
  unsigned seed = 18;
  for (int i = 0; i < n; ++i) {
    // The sum keeps all but the last four bits, which round up in both values or are zero.
    const bool rounds = i % 1000 == 7;
    x[i] = 3 * one + int((uniform(seed) + 0.5f) * (one / 16)) * 16 + (rounds ? 15 : 0);
    z[i] = int((uniform(seed) + 0.5f) * (one / 16)) * 16 + (rounds ? 9 : 0);
  }
  int *a = toDevice(x), *b = toDevice(z);
  float *y = onDevice<float>(n);
  oneAddition<<<24, 128>>>(a, b, y, n, 2);
  return finish(y, n);
}
