// Sums the rows of a matrix, one thread for each.
//
// kb-workload:
//   entry: rowSums
//   sizes: {rows: 512, columns: 256}
//   test-sizes: [{rows: 1, columns: 1}, {rows: 31, columns: 33}]
//   unseen-sizes: [{rows: 130, columns: 65}]
//   parameters:
//     - {name: sums, type: f32, shape: rows, role: out}
//     - {name: matrix, type: f32, shape: rows * columns, role: in, init: "uniform(0, 1)"}
//     - {name: rows, value: rows}
//     - {name: columns, value: columns}
#include "stats.h"
#include "pixel.cuh"

__global__ void sumKernel(float *sums, const float *matrix, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int column = 0; column < columns; ++column)
    sum += matrix[row * columns + column];
  sums[row] = sum;
}

void rowSums(float *sums, const float *matrix, int rows, int columns) {
  sumKernel<<<(rows + 127) / 128, 128>>>(sums, matrix, rows, columns);
}

void clearSums(float *sums, int rows) { fillKernel<float><<<(rows + 127) / 128, 128>>>(sums, rows, 0.0f); }
