// A loop with a symbolic trip count, and strides that depend on a parameter.
// RUN: kb-opt --emit=kb-ir %s | FileCheck %s

__global__ void matmul(const float *A, const float *B, float *C, int N) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < N && col < N) {
    float sum = 0;
    for (int k = 0; k < N; ++k)
      sum += A[row * N + k] * B[k * N + col];
    C[row * N + col] = sum;
  }
}

// CHECK: kb.kernel @_Z6matmulPKfS0_Pfi "matmul"
// CHECK: kb.loop "k" uniform trip <with [N] : N> value <over [k] : k> while "k < N" {
// CHECK: kb.access load global <argument "A" argument 0> {{.*}} at <over [k] with [N] : tid.y * N * 4 + bid.y * (bdim.y * N) * 4 + k * 4>
// CHECK: kb.access load global <argument "B" argument 1> {{.*}} at <over [k] with [N] : tid.x * 4 + bid.x * bdim.x * 4 + k * N * 4>
// CHECK: }
// CHECK: kb.access store global <argument "C" argument 2>
