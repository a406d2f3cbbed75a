// Whole allocations are aligned and do not overlap: nothing is left to test, and only the new kernel is launched.
// RUN: kb-opt --quiet -passes=schedule -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// CHECK: __global__ void shift(
__global__ void shift(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < m; ++k)
      y[i * m + k] = x[i * m + k] + 1.0f;
}

int main() {
  float *x, *y;
  cudaMalloc(&x, 4096 * sizeof(float));
  cudaMalloc(&y, 4096 * sizeof(float));
  // CHECK: {{^}}  shift_{{[a-z]+}}<<<
  // CHECK-NOT: if (
  shift<<<1, 64>>>(y, x, 64, 64);
  // An offset is tested.
  // CHECK: if ((size_t)(y + 1) % 16 == 0)
  // CHECK-NEXT: shift_{{[a-z]+}}<<<
  // CHECK-NEXT: else
  // CHECK-NEXT: shift<<<1, 32>>>
  shift<<<1, 32>>>(y + 1, x, 32, 64);
}
