// Softmax of rows, one block each.
// promise: reassociates
// mutant 1: the last column is missing in the sum -- G6
// mutant 3: a fast division -- G3
// mutant 4: the maximum is that of the row before -- G4 G6
// mutant 5: the row's stride is the block's -- G4 G6
// control 2: the sum's exponential by ex2.approx, as exp2f has it; G6 holds it to the promise
#include "harness.h"

__device__ float blockReduce(float value, bool isMax, float *shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (threadIdx.x < s) {
      float other = shared[threadIdx.x + s];
      shared[threadIdx.x] = isMax ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
    }
    __syncthreads();
  }
  float result = shared[0];
  __syncthreads();
  return result;
}

__global__ void softmax(const float *in, float *out, int columns) {
  __shared__ float shared[64];
#if VARIANT == 5
  const float *row = in + blockIdx.x * blockDim.x;
#else
  const float *row = in + blockIdx.x * columns;
#endif
  float largest = -INFINITY, sum = 0;
#if VARIANT == 4
  for (int c = threadIdx.x; c < columns; c += 64)
    largest = fmaxf(largest, row[c - columns]);
#else
  for (int c = threadIdx.x; c < columns; c += 64)
    largest = fmaxf(largest, row[c]);
#endif
  largest = blockReduce(largest, true, shared);
#if VARIANT == 1
  for (int c = threadIdx.x; c < columns - 1; c += 64)
#else
  for (int c = threadIdx.x; c < columns; c += 64)
#endif
#if VARIANT == 2
    sum += __expf(row[c] - largest);
#else
    sum += expf(row[c] - largest);
#endif
  sum = blockReduce(sum, false, shared);
  for (int c = threadIdx.x; c < columns; c += 64)
#if VARIANT == 3
    out[blockIdx.x * columns + c] = __fdividef(expf(row[c] - largest), sum);
#else
    out[blockIdx.x * columns + c] = expf(row[c] - largest) / sum;
#endif
}

int main() {
  const int rows = 8, columns = 150;
  float *in = toDevice(randomVector<float>(rows * columns, 10));
  float *out = onDevice<float>(rows * columns);
  softmax<<<rows, 64>>>(in, out, columns);
  return finish(out, rows * columns);
}
