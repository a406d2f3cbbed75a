// Sparse: a banded matrix in ELL form times a vector, one thread a row, stored row by row.
//
// kb-workload:
//   entry: spmv
//   sizes: {rows: 32768, width: 24}
//   test-sizes: [{rows: 25, width: 24}, {rows: 33, width: 7}, {rows: 100, width: 9}]
//   unseen-sizes: [{rows: 61, width: 5}]
//   parameters:
//     - {name: y, type: f32, shape: rows, role: out}
//     - {name: values, type: f32, shape: rows*width, role: in, init: normal}
//     - {name: columns, type: i32, shape: rows*width, role: in, init: "range(0, 25)"}
//     - {name: x, type: f32, shape: rows, role: in, init: normal}
//     - {name: rows, value: rows}
//     - {name: width, value: width}

__global__ void spmvKernel(float *y, const float *values, const int *columns, const float *x,
                           int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int j = 0; j < width; ++j)
    sum += values[row * width + j] * x[(row + columns[row * width + j]) % rows];
  y[row] = sum;
}

void spmv(float *y, const float *values, const int *columns, const float *x, int rows, int width) {
  spmvKernel<<<(rows + 255) / 256, 256>>>(y, values, columns, x, rows, width);
}
