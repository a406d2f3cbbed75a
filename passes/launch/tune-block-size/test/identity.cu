// A file without a launch has no sites, and nothing changes.
// RUN: kb-opt -passes=tune-block-size --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: count 0 < %t.yaml
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}
