// RUN: kb-opt -passes=import-kernel --quiet -o %t %s -- -I %S/Inputs
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: kb-opt -passes='import-kernel,limit-registers' -o %t %s -- -I %S/Inputs 2>&1 | FileCheck %s --check-prefix=REMARK
// A second run has nothing left to copy.
// RUN: kb-opt -passes=import-kernel --quiet -o %t.1.cu %s -- -I %S/Inputs
// RUN: kb-opt -passes=import-kernel --quiet -o %t.2.cu %t.1.cu -- -I %S/Inputs
// RUN: diff %t.1.cu %t.2.cu
// REMARK: remark: copied 'smooth' from 'kernels.h' as 'smoothHere{{[0-9]*}}' [import-kernel
// REMARK: remark: limited to 64 registers per thread [limit-registers
#include "kernels.h"

// CHECK: __global__ void __launch_bounds__(256) {{smoothHere[0-9]*}}(const float *x, float *y, int n) {
// CHECK: #pragma unroll
// CHECK-NEXT: for (int k = 0; k < WIDTH; ++k)
// CHECK: template <typename T>
// CHECK-SAME: __global__ void {{fillHere[0-9]*}}(T *x, T value, int n) {
// CHECK: void run(
void run(float *x, float *y, int n) {
  // CHECK: {{fillHere[0-9]*}}<<<(n + 255) / 256, 256>>>(y, 0.0f, n);
  fill<<<(n + 255) / 256, 256>>>(y, 0.0f, n);
  if (n > 1)
    // CHECK: {{smoothHere[0-9]*}}<<<(n + 255) / 256, 256>>>(x, y, n);
    smooth<<<(n + 255) / 256, 256>>>(x, y, n);
}

// CHECK: {{fillHere[0-9]*}}<int><<<1, 32, 0, 0>>>(x, 1, 32);
void runInt(int *x) { fill<int><<<1, 32, 0, 0>>>(x, 1, 32); }

// A choice between two kernels of the user's is none of a pass's.
// CHECK: {{smooth2Here[0-9]*}}<<<1, 256>>>(x, y, n);
// CHECK: {{smoothHere[0-9]*}}<<<1, 256>>>(x, y, n);
// CHECK: {{fillHere[0-9]*}}<<<1, 32>>>(y, 0.0f, n);
void choose(float *x, float *y, int n) {
  if (n > 1000)
    smooth2<<<1, 256>>>(x, y, n);
  else if (n > 100)
    smooth<<<1, 256>>>(x, y, n);
  else
    fill<<<1, 32>>>(y, 0.0f, n);
}
