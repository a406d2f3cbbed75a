// RUN: kb-opt -passes=inline-header -o %t.cu %s -- -I %S/Inputs 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: grep -v '^ *// *[A-Z]*:' %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s -- -I %S/Inputs 2>&1 | FileCheck %s --check-prefix=JUDGED
// The other passes act then.
// RUN: kb-opt -passes='inline-header,tune-block-size{size=512}' -o %t.2.cu %s -- -I %S/Inputs 2>&1 | FileCheck %s --check-prefix=NEXT
// A second run has nothing left to do.
// RUN: kb-opt -passes=inline-header --quiet -o %t.3.cu %t.cu -- -I %S/Inputs
// RUN: diff %t.cu %t.3.cu
// REMARK: :[[#@LINE+5]]:1: remark: put the text of 'scaling.h' in place of its #include [inline-header
// NEXT: remark: launched with 512 threads per block instead of 128 [tune-block-size
// JUDGED: {{^}}correct{{$}}
#include <cstdio>
#include <cstdlib>
#include "scaling.h" // twice

// CHECK-NOT: pragma once
// CHECK-NOT: #include "scaling.h"
// CHECK: namespace scaling {
// CHECK: // Doubles.
// CHECK-NEXT: __global__ void twice(float *x, int n) {
// CHECK: } // namespace scaling // twice
// CHECK: int main() {
int main() {
  float *x, *result = static_cast<float *>(malloc(1000 * sizeof(float)));
  for (int i = 0; i < 1000; ++i)
    result[i] = static_cast<float>(i % 17);
  cudaMalloc(&x, 1000 * sizeof(float));
  cudaMemcpy(x, result, 1000 * sizeof(float), cudaMemcpyHostToDevice);
  scaling::run<128>(x, 1000);
  cudaMemcpy(result, x, 1000 * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", result[999]);
  return 0;
}
