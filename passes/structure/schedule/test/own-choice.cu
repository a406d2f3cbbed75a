// A user's choice between two kernels, of which one has the other's name in front of its own, is no fallback of a generated kernel.
// RUN: kb-opt -passes=schedule %s -o %t.cu && grep -v '^ *//' %t.cu | FileCheck %s
// CHECK-LABEL: void choose(bool twice
// CHECK: grow_twice_{{w}}ide<<<
// CHECK: else
// CHECK: grow_{{w}}ide<<<

__global__ void grow(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * 2.0f;
}

__global__ void grow_twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * 4.0f;
}

void choose(bool twice, float *x, int n) {
  if (twice) {
    for (int k = 0; k < 3; ++k)
      grow_twice<<<(n + 255) / 256, 256>>>(x, n);
  } else {
    for (int k = 0; k < 3; ++k)
      grow<<<(n + 255) / 256, 256>>>(x, n);
  }
}
