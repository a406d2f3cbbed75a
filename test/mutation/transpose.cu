// A transpose through a tile in shared memory, with edges.
// mutant 1: the barrier is dropped -- G4
// mutant 2: swapped indices in the tile -- G4 G6
// mutant 3: the output has the input's pitch -- G4 G6
// mutant 4: width and height are swapped in the guard -- G4 G6
// mutant 5: the store is not guarded -- G4
#include "harness.h"

__global__ void transpose(float *out, const float *in, int width, int height) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height)
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];
#if VARIANT != 1
  __syncthreads();
#endif
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
#if VARIANT == 4
  if (x < width && y < height)
#elif VARIANT == 5
  if (true)
#else
  if (x < height && y < width)
#endif
#if VARIANT == 2
    out[y * height + x] = tile[threadIdx.y][threadIdx.x];
#elif VARIANT == 3
    out[y * width + x] = tile[threadIdx.x][threadIdx.y];
#else
    out[y * height + x] = tile[threadIdx.x][threadIdx.y];
#endif
}

int main() {
  const int width = 75, height = 53;
  float *in = toDevice(randomVector<float>(width * height, 4));
  float *out = onDevice<float>(width * height);
  transpose<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
  return finish(out, width * height);
}
