// RUN: kb-opt "-passes=schedule{as='spiral turns=3'}" --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: !Missed
__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

void launch(float *y, const float *x, float a, int n) {
  scale<<<(n + 255) / 256, 256>>>(y, x, a, n);
}
