// RUN: kb-opt -passes='limit-unroll{factor=2}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// A loop that the compiler unrolls by itself gets a pragma.
// CHECK-LABEL: void constant
// CHECK: {{^ *}}#pragma unroll 2{{$}}
// CHECK-NEXT: for (int k = 0; k < 24; ++k)
// REMARK: Function: constant
// REMARK: String: left 2 iterations per trip
__global__ void constant(const float *x, float *y) {
  float sum = 0;
  for (int k = 0; k < 24; ++k)
    sum += x[threadIdx.x * 24 + k];
  y[threadIdx.x] = sum;
}

// So does one whose bound is known when it starts, in a template, too.
// CHECK-LABEL: void atRunTime
// CHECK: {{^ *}}#pragma unroll 2{{$}}
// CHECK-NEXT: for (int k = 0; k < n; ++k)
template <typename T> __global__ void atRunTime(const T *x, T *y, int n) {
  T sum = 0;
  for (int k = 0; k < n; ++k)
    sum += x[threadIdx.x * n + k];
  y[threadIdx.x] = sum;
}
template __global__ void atRunTime(const float *, float *, int);
template __global__ void atRunTime(const double *, double *, int);

// A pragma that is there is replaced, with or without a number.
// CHECK-LABEL: void hasPragma
// CHECK-NOT: unroll{{$}}
// CHECK: {{^ *}}#pragma unroll 2{{$}}
// CHECK-NEXT: for (int s
// CHECK-NOT: unroll (8)
// CHECK: {{^ *}}#  pragma unroll 2{{$}}
// CHECK-NEXT: for (int k = 0; k < n; ++k)
// CHECK: {{^}}}
__global__ void hasPragma(const float *x, float *y, int n) {
  float sum = 0;
#pragma unroll
  for (int s = 0; s < 32; ++s)
    sum = sum * x[s] + 1.0f;
#  pragma unroll (8)
  for (int k = 0; k < n; ++k)
    sum += x[threadIdx.x * n + k];
  y[threadIdx.x] = sum;
}

// The outer loop of a nest; the inner ones index what must stay in registers.
// CHECK-LABEL: void nest
// CHECK: #pragma unroll
// CHECK-NEXT: for (int k = 0; k < 4; ++k)
// CHECK: {{^ *}}#pragma unroll 2{{$}}
// CHECK-NEXT: for (int s = 0; s < n; ++s)
// CHECK: #pragma unroll
// CHECK-NEXT: for (int k = 0; k < 4; ++k)
__global__ void nest(const float *x, float *y, int n) {
  float state[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    state[k] = 0;
  for (int s = 0; s < n; ++s) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      state[k] += x[s * 4 + k];
  }
  y[threadIdx.x] = state[0] + state[1] + state[2] + state[3];
}
