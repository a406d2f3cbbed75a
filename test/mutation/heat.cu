// A step of the heat equation; constants are doubles between floats.
// promise: lower-precision
// mutant 1: a constant with three digits -- G6
// mutant 2: the sum goes through half -- G3
// mutant 3: one neighbour is missing -- G6
// mutant 4: off by four units in the last place -- G6
// control 5: constants are floats
// REQUIRES: long
#include "harness.h"
#include <cuda_fp16.h>

__global__ void heat(float *next, const float *now, int height, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y >= height || x >= width)
    return;
  float here = now[y * width + x];
  float up = y > 0 ? now[(y - 1) * width + x] : here;
  float down = y < height - 1 ? now[(y + 1) * width + x] : here;
  float left = x > 0 ? now[y * width + x - 1] : here;
  float right = x < width - 1 ? now[y * width + x + 1] : here;
#if VARIANT == 1
  next[y * width + x] = here + 0.201 * (up + down + left + right - 4.0 * here);
#elif VARIANT == 2
  next[y * width + x] = here + 0.2 * (__half2float(__float2half(up + down + left + right)) - 4.0 * here);
#elif VARIANT == 3
  next[y * width + x] = here + 0.2 * (up + down + left + here - 4.0 * here);
#elif VARIANT == 4
  next[y * width + x] = (here + 0.2 * (up + down + left + right - 4.0 * here)) * 1.0000005;
#elif VARIANT == 5
  next[y * width + x] = here + 0.2f * (up + down + left + right - 4.0f * here);
#else
  next[y * width + x] = here + 0.2 * (up + down + left + right - 4.0 * here);
#endif
}

int main() {
  const int height = 120, width = 130;
  float *now = toDevice(randomVector<float>(height * width, 15)), *next = onDevice<float>(height * width);
  heat<<<dim3(9, 8), dim3(16, 16)>>>(next, now, height, width);
  return finish(next, height * width);
}
