// RUN: kb-opt -passes='pad-shared-array{pad=2}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// Only the array that conflicts; a sum in the brackets keeps its meaning.
// CHECK: __shared__ float columns[16][(16 + 16) + 2], rows[16][32];
// REMARK: !Passed
// REMARK: Function: twoArrays
// REMARK: String: 'padded the rows of ''columns'' by 2 elements'
// REMARK: !Missed
// REMARK: Function: twoArrays
// REMARK: String: 'no access to ''rows'' conflicts'
__global__ void twoArrays(const float *x, float *y) {
  __shared__ float columns[16][16 + 16], rows[16][32];
  int t = threadIdx.x;
  columns[t / 2][t % 2] = 0;
  rows[0][t] = x[t];
  columns[t % 16][0] = x[t + 32];
  __syncthreads();
  if (t < 16)
    y[t] = columns[t][0] + rows[1][t];
}

void run(const float *x, float *y) { twoArrays<<<1, 32>>>(x, y); }
