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

constexpr int kWarps = 8;

// A warp takes a row, so that neighbouring lanes read neighbouring entries.
__global__ void __launch_bounds__(32 * kWarps)
    multiplyKernel(float *__restrict__ y, const int *__restrict__ starts, const int *__restrict__ column,
                   const float *__restrict__ value, const float *__restrict__ x, int rows) {
  int row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  int end = starts[row + 1];
  float sum = 0.0f;
  for (int entry = starts[row] + lane; entry < end; entry += 32)
    sum += value[entry] * x[column[entry]];
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane == 0)
    y[row] = sum;
}

void multiply(float *y, const int *starts, const int *column, const float *value, const float *x, int rows) {
  multiplyKernel<<<(rows + kWarps - 1) / kWarps, 32 * kWarps>>>(y, starts, column, value, x, rows);
}
