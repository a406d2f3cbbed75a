// A matrix times a vector in double precision, one thread per row.
// promise: reassociates
// mutant 1: accumulates in float -- G6
// mutant 2: the inputs pass through float -- G6
// mutant 3: every other column -- G6
// mutant 4: the row index is off by one -- G4 G6
// REQUIRES: long
#include "harness.h"

__global__ void dot(const double *a, const double *x, double *y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
#if VARIANT == 1
  float sum = 0;
#else
  double sum = 0;
#endif
#if VARIANT == 3
  for (int c = 0; c < columns; c += 2)
#else
  for (int c = 0; c < columns; ++c)
#endif
#if VARIANT == 2
    sum += double(float(a[row * columns + c]) * float(x[c]));
#elif VARIANT == 4
    sum += a[(row + 1) * columns + c] * x[c];
#else
    sum += a[row * columns + c] * x[c];
#endif
  y[row] = sum;
}

int main() {
  const int rows = 70, columns = 90;
  double *a = toDevice(randomVector<double>(rows * columns, 11));
  double *x = toDevice(randomVector<double>(columns, 12)), *y = onDevice<double>(rows);
  dot<<<2, 64>>>(a, x, y, rows, columns);
  return finish(y, rows);
}
