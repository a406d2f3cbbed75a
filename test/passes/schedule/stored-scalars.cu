// A scalar of a row that is loaded from what the row stores: elements of the row are no points, each of which would load it anew.
// RUN: kb-opt -passes=schedule -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt --quiet "-passes=schedule{as=map}" -o %t.map.cu %s
// RUN: kb-opt --by-passes --judge=%t.map.cu %s | FileCheck --check-prefix=JUDGED %s
// REMARK: added 'shift{{_}}rows'
// REMARK: added 'twice{{_}}wide'
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {rows: 5, n: 512}
//   test-sizes: [{rows: 1, n: 1}, {rows: 40, n: 33}]
//   parameters:
//     - {name: x, type: f32, shape: [rows, n], role: inout, init: normal}
//     - {name: y, type: f32, shape: [rows, n], role: inout, init: normal}
//     - {name: rows, value: rows}
//     - {name: n, value: n}
__global__ void shift(float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float first = x[row * columns];
  for (int i = 0; i < columns; ++i)
    x[row * columns + i] = x[row * columns + i] - first;
}

// Nothing else loads what is stored.
__global__ void twice(float *y, const float *__restrict__ x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float first = x[row * columns];
  for (int i = 0; i < columns; ++i)
    y[row * columns + i] = 2 * y[row * columns + i] - first;
}

void run(float *x, float *y, int rows, int n) {
  shift<<<1, 64>>>(x, rows, n);
  twice<<<1, 64>>>(y, x, rows, n);
}
