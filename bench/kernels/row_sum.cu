// Reduction: the sum of every row, one thread a row.
//
// kb-workload:
//   entry: rowSum
//   sizes: {rows: 4096, columns: 512}
//   test-sizes: [{rows: 1, columns: 1}, {rows: 33, columns: 31}, {rows: 7, columns: 128}]
//   unseen-sizes: [{rows: 97, columns: 13}]
//   parameters:
//     - {name: sums, type: f32, shape: rows, role: out}
//     - {name: x, type: f32, shape: rows*columns, role: in, init: "uniform(0, 1)"}
//     - {name: rows, value: rows}
//     - {name: columns, value: columns}

__global__ void rowSumKernel(float *sums, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int j = 0; j < columns; ++j)
    sum += x[row * columns + j];
  sums[row] = sum;
}

void rowSum(float *sums, const float *x, int rows, int columns) {
  rowSumKernel<<<(rows + 127) / 128, 128>>>(sums, x, rows, columns);
}
