// RUN: kb-opt -passes=import-kernel --quiet --remarks-file=%t.yaml -o %t %s -- -I %S/Inputs
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed
// CHECK-DAG: String: 'the kernel''s template is specialised'
// CHECK-DAG: String: 'the macro ''STEP'' is defined anew after the kernel'
// CHECK-DAG: String: 'the file declares ''weightOf'' too, which the kernel uses'
// CHECK-DAG: String: '''calls'' lives as long as the program, so that two kernels cannot share it'
// CHECK-DAG: String: '''__LINE__'' depends on where it stands'
// CHECK-DAG: String: the kernel stands in a namespace or a class
// CHECK-DAG: String: the launch at line {{[0-9]+}} stands in a macro or in another file
#include "kernels.h"

__device__ inline float weightOf(short k) { return k; }

// Its own kernel is no business of the pass.
__global__ void own(float *x) { x[threadIdx.x] = 0; }

#define FILL(x) fill<<<1, 32>>>(x, 1.0f, 32)

void run(float *x, int *y) {
  special<<<1, 32>>>(x);
  redefined<<<1, 32>>>(x);
  overloaded<<<1, 32>>>(x);
  counts<<<1, 32>>>(y);
  names<<<1, 32>>>(y);
  apart::inside<<<1, 32>>>(x);
  FILL(x);
  own<<<1, 32>>>(x);
}
