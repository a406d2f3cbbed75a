// Three points in one dimension through shared memory with a halo.
// mutant 1: the right halo is not loaded -- G4
// mutant 2: the halo lies one element off -- G4 G6
// mutant 3: the barrier is dropped -- G4
// mutant 4: swapped coefficients -- G6
// mutant 5: an array one element too short -- G4
#include "harness.h"

__global__ void stencil(const float *in, float *out, int n) {
#if VARIANT == 5
  __shared__ float s[64 + 1];
#else
  __shared__ float s[64 + 2];
#endif
  int i = blockIdx.x * 64 + threadIdx.x;
  s[threadIdx.x + 1] = i < n ? in[i] : 0.0f;
  if (threadIdx.x == 0)
#if VARIANT == 2
    s[0] = i > 1 ? in[i - 2] : 0.0f;
#else
    s[0] = i > 0 ? in[i - 1] : 0.0f;
#endif
#if VARIANT != 1
  if (threadIdx.x == 63)
    s[65] = i + 1 < n ? in[i + 1] : 0.0f;
#endif
#if VARIANT != 3
  __syncthreads();
#endif
  if (i < n)
#if VARIANT == 4
    out[i] = 0.5f * s[threadIdx.x] + 0.3f * s[threadIdx.x + 1] + 0.2f * s[threadIdx.x + 2];
#else
    out[i] = 0.2f * s[threadIdx.x] + 0.3f * s[threadIdx.x + 1] + 0.5f * s[threadIdx.x + 2];
#endif
}

int main() {
  const int n = 500;
  float *in = toDevice(randomVector<float>(n, 5)), *out = onDevice<float>(n);
  stencil<<<(n + 63) / 64, 64>>>(in, out, n);
  return finish(out, n);
}
