// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes='aggregate-atomics-in-warp{match=false}' --arch=sm_75 --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: scattered
// CHECK: String: 'lanes may update different addresses, ''&bins[x[threadIdx.x]]'''
__global__ void scattered(const int *x, int *bins) {
  atomicAdd(&bins[x[threadIdx.x]], 1);
}

// CHECK: Function: floats
// CHECK: String: floating-point sums would be formed in another order
__global__ void floats(float *sum) {
  atomicAdd(sum, 1.0f);
}

// CHECK: Function: old
// CHECK: String: adding up values that differ between lanes needs sm_80 or later
__global__ void old(const int *x, int *sum) {
  atomicAdd(sum, x[threadIdx.x]);
}

// CHECK: Function: wide
// CHECK: String: warps add up 32-bit values only, unless what is added is a constant
__global__ void wide(const int *x, unsigned long long *sum) {
  atomicAdd(sum, (unsigned long long)x[threadIdx.x]);
}

// CHECK: Function: used
// CHECK: String: the result is used, and what is added is no constant
__global__ void used(const int *x, int *sum, int *y) {
  int before = atomicAdd(sum, x[threadIdx.x]);
  y[threadIdx.x] = before;
}

// CHECK: Function: part
// CHECK: String: the atomic is part of a larger expression
__global__ void part(const int *x, int *count, int *y) {
  y[atomicAdd(count, 1)] = x[threadIdx.x];
}

// CHECK: Function: one
// CHECK: String: one lane does the atomic already
__global__ void one(int *count) {
  if (threadIdx.x % 32 == 5)
    atomicAdd(count, 1);
}

// CHECK: Function: few
// CHECK: String: one thread of the block does the atomic already
__global__ void few(int *count) {
  if (threadIdx.x == 0)
    atomicAdd(count, 1);
}

// CHECK: Function: macro
// CHECK: String: 'it comes from the macro ''COUNT'''
#define COUNT() atomicAdd(count, 1)
__global__ void macro(int *count) {
  COUNT();
}

// CHECK: Function: either
// CHECK: String: 'instances of the template differ in the element''s type'
template <typename T> __global__ void either(T *count) {
  atomicAdd(count, T(1));
}
template __global__ void either<int>(int *);
template __global__ void either<unsigned>(unsigned *);
