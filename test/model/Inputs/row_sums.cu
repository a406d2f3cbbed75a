// One thread sums a row, so that the lanes of a warp read elements that are far apart.
//
// kb-workload:
//   entry: rowSums
//   sizes: {rows: 2048, columns: 512}
//   test-sizes: [{rows: 1, columns: 1}, {rows: 7, columns: 33}]
//   parameters:
//     - {name: y, type: f32, shape: rows, role: out}
//     - {name: x, type: f32, shape: rows * columns, role: in, init: normal}
//     - {name: rows, value: rows}
//     - {name: columns, value: columns}

__global__ void rowSumKernel(float *y, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i)
    sum += x[row * columns + i];
  y[row] = sum;
}

void rowSums(float *y, const float *x, int rows, int columns) {
  rowSumKernel<<<(rows + 127) / 128, 128>>>(y, x, rows, columns);
}
