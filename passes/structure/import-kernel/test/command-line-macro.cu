// A macro of the command line means the same everywhere.
// RUN: kb-opt -passes=import-kernel --quiet -o %t %s -- -I %S/Inputs -DREAL=float
// RUN: grep -v '^ *//' %t | FileCheck %s
#include "given.h"

// CHECK: __global__ void {{halveHere[0-9]*}}(REAL *x) {
// CHECK: {{halveHere[0-9]*}}<<<1, 32>>>(x);
void run(REAL *x) { halve<<<1, 32>>>(x); }
