// A kernel without loops has no sites, and nothing changes.
// RUN: kb-opt -passes=limit-unroll --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: count 0 < %t.yaml
__global__ void noLoop(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }
