// Callers of a library choose the pointers, and a header may be others' as well.
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: kb-opt -passes=align-structure --quiet --remarks-file=remarks.yaml -o out.cu library.cu
// RUN: diff library.cu out.cu
// RUN: FileCheck --implicit-check-not=!Passed %s < remarks.yaml
// CHECK: Function: move
// CHECK: String: 'callers of ''run'' in other files may pass pointers that are not aligned'
// CHECK: Function: elsewhere
// CHECK: String: '''Other'' is defined in another file'

//--- other.h
struct Other {
  float a, b;
};
//--- library.cu
#include "other.h"
struct Point {
  float x, y;
};
__global__ void move(Point *p) { p->x += p->y; }
__global__ void elsewhere(Other *p) { p->a += p->b; }
void run(Point *p) { move<<<1, 1>>>(p); }
