// Rows to mean 0 and variance 1, one thread a row.
// promise: reassociates
// mutant 1: the last column is missing in the sum -- G6
// mutant 2: the mean of the first half of a row -- G6
// mutant 3: the variance of a sample, not of the row -- G6
// mutant 4: nothing is added to a variance of zero -- G6 G7
// mutant 5: differences go through half -- G3
// mutant 6: the offset of the next column -- G4 G6
// control 7: four sums of every fourth column
// control 8: a warp a row, summed by shuffles
// control 9: sums of halves of halves
// REQUIRES: long
#include "harness.h"
#include <cuda_fp16.h>
#ifndef VARIANT
#define VARIANT 0
#endif

__device__ float pairwise(const float *x, int n, float mean, bool squared) {
  float level[12];
  for (int i = 0; i < n; ++i) {
    float d = x[i] - mean, term = squared ? d * d : x[i];
    int depth = 0;
    for (int rest = i; rest & 1; rest >>= 1)
      term = level[depth++] + term;
    level[depth] = term;
  }
  float sum = 0;
  for (int depth = 0; depth < 12; ++depth)
    if (n >> depth & 1)
      sum = level[depth] + sum;
  return sum;
}

__device__ float ofWarp(float value) {
  for (int step = 16; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void layerNorm(float *y, const float *x, const float *gain, const float *offset, int rows, int width) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT == 8
  for (int row = thread / 32; row < rows; row += gridDim.x * blockDim.x / 32) {
    const float *in = x + row * width;
    float sum = 0, squares = 0;
    for (int j = thread % 32; j < width; j += 32)
      sum += in[j];
    float mean = ofWarp(sum) / width;
    for (int j = thread % 32; j < width; j += 32)
      squares += (in[j] - mean) * (in[j] - mean);
    float scale = 1.0f / sqrtf(ofWarp(squares) / width + 1e-5f);
    for (int j = thread % 32; j < width; j += 32)
      y[row * width + j] = (in[j] - mean) * scale * gain[j] + offset[j];
  }
#else
  if (thread >= rows)
    return;
  const float *in = x + thread * width;
  float sum = 0, squares = 0;
#if VARIANT == 7
  float sums[4] = {}, parts[4] = {};
  for (int j = 0; j < width; ++j)
    sums[j % 4] += in[j];
  sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
#elif VARIANT == 9
  sum = pairwise(in, width, 0, false);
#else
  for (int j = 0; j < width - (VARIANT == 1); ++j)
    if (VARIANT != 2 || j < width / 2)
      sum += in[j];
#endif
  float mean = sum / (VARIANT == 2 ? width / 2 : width);
#if VARIANT == 7
  for (int j = 0; j < width; ++j)
    parts[j % 4] += (in[j] - mean) * (in[j] - mean);
  squares = (parts[0] + parts[1]) + (parts[2] + parts[3]);
#elif VARIANT == 9
  squares = pairwise(in, width, mean, true);
#else
  for (int j = 0; j < width; ++j) {
    float d = in[j] - mean;
#if VARIANT == 5
    d = __half2float(__float2half(d));
#endif
    squares += d * d;
  }
#endif
  float scale = 1.0f / sqrtf(squares / (VARIANT == 3 ? width - 1 : width) + (VARIANT == 4 ? 0.0f : 1e-5f));
  for (int j = 0; j < width; ++j)
    y[thread * width + j] = (in[j] - mean) * scale * gain[j] + offset[VARIANT == 6 ? j + 1 : j];
#endif
}

int main() {
  const int rows = 64, width = 96;
  float *x = toDevice(randomVector<float>(rows * width, 12)), *gain = toDevice(randomVector<float>(width, 13));
  float *offset = toDevice(randomVector<float>(width, 14)), *y = onDevice<float>(rows * width);
  layerNorm<<<2, 32>>>(y, x, gain, offset, rows, width);
  return finish(y, rows * width);
}
