// RUN: kb-opt -passes=inline-header -o %t.cu %s -- -I %S/Inputs 2>&1 | FileCheck %s
// RUN: diff %s %t.cu
#include "beside.h"
#include "guarded.h"
#include "guarded.h"
#include "placed.h"
// CHECK-DAG: does not apply: 'beside.h' includes files from its own folder
// CHECK-DAG: does not apply: 'guarded.h' is included more than once
// CHECK-DAG: does not apply: '__LINE__' in 'placed.h' depends on where it stands
// Neither a header's header, which the file does not name, nor one whose kernels the file launches, has a site.
// CHECK-NOT: scaling.h
void run(float *x, int *y) {
  runHalf(x);
  runGuarded(x);
  runPlaced(y);
  scaling::run<32>(x, 32);
}
