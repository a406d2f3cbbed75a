// A sparse matrix in compressed rows times a vector, one thread for each row.
//
// kb-workload:
//   entry: multiply
//   sizes: {rows: 32768, entries: 2097152, columns: 32768}
//   test-sizes: [{rows: 1, entries: 1, columns: 1}, {rows: 33, entries: 300, columns: 50}, {rows: 100, entries: 90, columns: 20}]
//   unseen-sizes: [{rows: 61, entries: 500, columns: 44}]
//   parameters:
//     - {name: y, type: f32, shape: rows, role: out}
//     - {name: starts, type: i32, shape: rows+1, role: in, init: offsets(entries), values: [offsets]}
//     - {name: column, type: i32, shape: entries, role: in, init: "range(0, columns)", range: [0, columns - 1]}
//     - {name: value, type: f32, shape: entries, role: in, init: normal}
//     - {name: x, type: f32, shape: columns, role: in, init: normal}
//     - {name: rows, value: rows}

__global__ void multiplyKernel(float *y, const int *starts, const int *column, const float *value, const float *x,
                               int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int entry = starts[row]; entry < starts[row + 1]; ++entry)
    sum += value[entry] * x[column[entry]];
  y[row] = sum;
}

void multiply(float *y, const int *starts, const int *column, const float *value, const float *x, int rows) {
  multiplyKernel<<<(rows + 127) / 128, 128>>>(y, starts, column, value, x, rows);
}
