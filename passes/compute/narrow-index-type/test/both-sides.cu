// The new kernel runs for positive sizes; a row of no columns reaches the original.
// RUN: kb-opt -passes=narrow-index-type --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s 2>&1 | FileCheck %s --check-prefix=JUDGE
// CHECK: int i = blockIdx.x * (int)blockDim.x + threadIdx.x;
// CHECK: for (int k = 0; k < columns; ++k)
// CHECK: if (columns > 0 && rows > 0 &&
// CHECK: {{s}}umRowsNarrow<<<
// CHECK: else
// CHECK-NEXT: sumRows<<<(rows + 31) / 32, 32>>>(x, y, rows, columns);
// JUDGE: {{^}}correct{{$}}
//
// kb-workload:
//   entry: run
//   sizes: {rows: 100, columns: 12}
//   test-sizes: [{rows: 3, columns: 7}, {rows: 33, columns: 0}, {rows: 1, columns: 1}]
//   parameters:
//     - {name: x, type: f32, shape: rows*columns+1, role: in}
//     - {name: y, type: f32, shape: rows, role: out}
//     - {name: rows, value: rows}
//     - {name: columns, value: columns}
__global__ void sumRows(const float *x, float *y, size_t rows, size_t columns) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= rows)
    return;
  float sum = 0.0f;
  for (size_t k = 0; k < columns; ++k)
    sum += x[i * columns + k];
  y[i] = sum;
}
void run(const float *x, float *y, size_t rows, size_t columns) {
  sumRows<<<(rows + 31) / 32, 32>>>(x, y, rows, columns);
}
