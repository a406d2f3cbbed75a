// The new kernel runs for 12 columns, the original for any other number, and for none.
// RUN: kb-opt -passes=specialize-constants --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s 2>&1 | FileCheck %s --check-prefix=JUDGE
// CHECK: if (columns == 12 && bias)
// CHECK-NEXT: {{s}}umRowsColumns12Bias1<<<(rows + 31) / 32, 32>>>(x, y, rows);
// CHECK-NEXT: else
// CHECK-NEXT: sumRows<<<(rows + 31) / 32, 32>>>(x, y, rows, columns, bias);
// JUDGE: {{^}}correct{{$}}
//
// kb-workload:
//   entry: run
//   sizes: {rows: 100, columns: 12, bias: 1}
//   test-sizes: [{rows: 3, columns: 7, bias: 1}, {rows: 33, columns: 12, bias: 0}, {rows: 1, columns: 0, bias: 1}]
//   parameters:
//     - {name: x, type: f32, shape: rows*columns+1, role: in}
//     - {name: y, type: f32, shape: rows, role: out}
//     - {name: rows, value: rows}
//     - {name: columns, value: columns}
//     - {name: bias, value: bias}
__global__ void sumRows(const float *x, float *y, int rows, int columns, bool bias) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows)
    return;
  float sum = bias ? x[0] : 0.0f;
  for (int k = 0; k < columns; ++k)
    sum += x[i * columns + k];
  y[i] = sum / columns;
}
void run(const float *x, float *y, int rows, int columns, bool bias) {
  sumRows<<<(rows + 31) / 32, 32>>>(x, y, rows, columns, bias);
}
void usual(const float *x, float *y, int rows) { run(x, y, rows, 12, true); }
