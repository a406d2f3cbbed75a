// Reverses tiles; the last tile has threads to spare, which may return before the barrier.
// control 1: they return from a function
// control 2: they leave a loop over tiles
// mutant 3: they go around the barrier and go on -- G4
// mutant 4: they go around it in a function -- G4
#include "harness.h"

__shared__ float box[64];

__device__ void reverseTile(const float *x, float *y, int tile, int n) {
  int t = threadIdx.x, i = tile * 64 + t, last = min(64, n - tile * 64) - 1;
#if VARIANT == 1
  if (i >= n)
    return;
  box[t] = x[i];
  __syncthreads();
  y[i] = box[last - t];
#elif VARIANT == 4
  float value = -1.0f;
  if (i < n) {
    box[t] = x[i];
    __syncthreads();
    value = box[last - t];
  }
  y[i] = value;
#else
  if (i < n)
    box[t] = x[i];
  __syncthreads();
  if (i < n)
    y[i] = box[last - t];
#endif
}

__global__ void reverse(const float *x, float *y, int n) {
#if VARIANT == 2
  for (int tile = blockIdx.x; tile < 16; tile += gridDim.x) {
    int t = threadIdx.x, i = tile * 64 + t, last = min(64, n - tile * 64) - 1;
    if (i >= n)
      return;
    box[t] = x[i];
    __syncthreads();
    y[i] = box[last - t];
    __syncthreads();
  }
#elif VARIANT == 3
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float value = -1.0f;
  if (i < n) {
    box[t] = x[i];
    __syncthreads();
    value = box[min(64, n - int(blockIdx.x) * 64) - 1 - t];
  }
  y[i] = value;
#else
  reverseTile(x, y, blockIdx.x, n);
#endif
}

int main() {
  const int n = 1000;
  float *x = toDevice(randomVector<float>(n, 3)), *y = onDevice<float>(1024);
  cudaMemset(y, 0, 1024 * sizeof(float));
  reverse<<<16, 64>>>(x, y, n);
  return finish(y, n);
}
