// Sums of products, whose terms leave the range of float on large inputs: there the order of the terms decides between
// both infinities and NaN. The inputs of such a case are made smaller until the original stays finite.
// promise: reassociates
// mutant 1: means by fourth powers, which are NaN wherever the original is large -- G7
// mutant 2: the last term is missing where a sum is large -- G7
// control 3: four partial sums
// control 4: from the last term to the first
// REQUIRES: long
#include "harness.h"

__global__ void rowProducts(const float *a, const float *x, float *y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  const float *mine = a + row * columns;
#if VARIANT == 3
  float parts[4] = {0, 0, 0, 0};
  for (int k = 0; k < columns; k += 4)
    for (int j = 0; j < 4; ++j)
      if (k + j < columns)
        parts[j] += mine[k + j] * x[k + j];
  y[row] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
#elif VARIANT == 4
  float sum = 0;
  for (int k = columns - 1; k >= 0; --k)
    sum += mine[k] * x[k];
  y[row] = sum;
#else
  float sum = 0;
  for (int k = 0; k < columns; ++k)
    sum += mine[k] * x[k];
#if VARIANT == 1
  const float square = sum * sum;
  sum = fabsf(sum) > 1e6f ? square * square / (square * sum) : sum;
#elif VARIANT == 2
  sum -= fabsf(sum) > 1e6f ? mine[columns - 1] * x[columns - 1] : 0.0f;
#endif
  y[row] = sum;
#endif
}

int main() {
  const int rows = 120, columns = 50;
  float *a = toDevice(randomVector<float>(rows * columns, 1)), *x = toDevice(randomVector<float>(columns, 2));
  float *y = onDevice<float>(rows);
  rowProducts<<<2, 64>>>(a, x, y, rows, columns);
  return finish(y, rows);
}
