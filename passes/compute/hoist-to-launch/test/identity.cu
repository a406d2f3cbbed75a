// The compiler multiplies in place of dividing 32 bits by a constant, shifts for powers of two, and computes constants.
// RUN: kb-opt -passes=hoist-to-launch --quiet -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t
// CHECK: n / 10 + wide / 16 + size / 3
__global__ void cheap(int *x, int n, long long wide) {
  const int size = 48;
  x[threadIdx.x] = n / 10 + wide / 16 + size / 3;
}
void run(int *x, int n, long long wide) { cheap<<<1, 32>>>(x, n, wide); }
