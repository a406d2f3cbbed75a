// RUN: kb-opt -passes=add-restrict-const --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: kb-opt -passes='add-restrict-const{restrict=false}' --quiet -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s --check-prefix=CONST
#include <cuda_runtime.h>

// Every declaration says the same.
// CHECK: void copy(const float *__restrict__ from, float *__restrict__ to);
// CHECK: void copy(const float *__restrict__ from, float *__restrict__ to) {
// CONST: void copy(const float *from, float *to);
// REMARK: Function: copy
// REMARK: String: 'declared ''from'' const and __restrict__'
// REMARK: Function: copy
// REMARK: String: 'declared ''to'' __restrict__'
__global__ void copy(float *from, float *to);
__global__ void copy(float *from, float *to) { to[threadIdx.x] = from[threadIdx.x]; }

// The same buffer twice, but both are only read.
// CHECK: void twice(const float *__restrict__ a, const float* __restrict__ b, float *__restrict__ to)
__global__ void twice(const float *a, float* b, float *to) {
  to[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x];
}

// The element type is a macro.
// CHECK: void macro(const REAL *__restrict__ a, REAL *__restrict__ to)
#define REAL float
__global__ void macro(REAL *a, REAL *to) { to[threadIdx.x] = a[threadIdx.x]; }

// One site at a time.
// RUN: kb-opt -passes='add-restrict-const{kernel=copy site=2}' --quiet -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s --check-prefix=ONE
// ONE: void copy(float *from, float *__restrict__ to);
// ONE: void twice(const float *a, float* b, float *to)

int main() {
  float *x, *y;
  cudaMalloc(&x, 4096);
  cudaMalloc((void **)&y, 4096);
  copy<<<1, 32>>>(x, y);
  twice<<<1, 32>>>(x, x, y);
  macro<<<1, 32>>>(x, y);
  return 0;
}
