// Bells, scaled by a length.
// promise: reassociates
// control 1: exp2f and rsqrtf
// control 2: four elements a thread
// control 3: the quotient as a product with the reciprocal
#include "harness.h"

__global__ void bells(const float *x, float *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT == 1
  if (i < n)
    y[i] = exp2f(-0.72134752f * x[i] * x[i]) * rsqrtf(1.0f + x[i] * x[i]);
#elif VARIANT == 2
  for (int k = 4 * i; k < min(4 * i + 4, n); ++k)
    y[k] = expf(-0.5f * x[k] * x[k]) / sqrtf(1.0f + x[k] * x[k]);
#elif VARIANT == 3
  if (i < n)
    y[i] = expf(-0.5f * x[i] * x[i]) * (1.0f / sqrtf(1.0f + x[i] * x[i]));
#else
  if (i < n)
    y[i] = expf(-0.5f * x[i] * x[i]) / sqrtf(1.0f + x[i] * x[i]);
#endif
}

int main() {
  const int n = 2000;
  float *x = toDevice(randomVector<float>(n, 1)), *y = onDevice<float>(n);
  bells<<<(n + 127) / 128, 128>>>(x, y, n);
  return finish(y, n);
}
