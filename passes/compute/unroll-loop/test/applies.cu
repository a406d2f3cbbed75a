// RUN: kb-opt -passes='unroll-loop{factor=8}' --quiet --remarks-file=%t.yaml -o %t %s -- -DSIZE=4
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// A constant, small number of iterations is unrolled entirely.
// CHECK-LABEL: void entirely
// CHECK: {{^ *}}#pragma unroll{{$}}
// CHECK-NEXT: for (int k = 0; k < SIZE; ++k)
// REMARK: !Passed
// REMARK: Function: entirely
// REMARK: String: unrolled entirely
__global__ void entirely(const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < SIZE; ++k)
    sum += x[i * SIZE + k];
  y[i] = sum;
}

// Any other by the factor.
// CHECK-LABEL: void byFactor
// CHECK: {{^ *}}#pragma unroll 8{{$}}
// CHECK-NEXT: for (int k = 0; k < n; ++k)
// REMARK: Function: byFactor
// REMARK: String: unrolled by 8
// REMARK: factor: '8'
__global__ void byFactor(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += x[i * n + k];
  y[i] = sum;
}

// A loop behind a condition on the same line gets a line of its own.
// CHECK-LABEL: void afterCondition
// CHECK: if (n > 0)
// CHECK-NEXT: {{^ *}}#pragma unroll 8{{$}}
// CHECK-NEXT: for (int k
__global__ void afterCondition(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  if (n > 0) for (int k = 0; k < n; ++k)
    sum += x[i * n + k];
  y[i] = sum;
}

// Of nested loops only the inner one.
// CHECK-LABEL: void nested
// CHECK-NOT: #pragma
// CHECK: for (int j
// CHECK-NEXT: {{^ *}}#pragma unroll 8{{$}}
// CHECK-NEXT: for (int k
__global__ void nested(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < n; ++k)
      sum += x[(i * n + j) * n + k];
  y[i] = sum;
}
