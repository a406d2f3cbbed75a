// RUN: kb-opt -passes='limit-registers{registers=96}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: kb-opt -passes='limit-registers{registers=40}' --quiet -o - %s | grep -v '^ *//' | FileCheck %s --check-prefix=FEW

// 96 registers for 512 threads: 49,152 of 65,536.
// CHECK: __global__ void __maxnreg__(96) constant(
// REMARK: Function: constant
// REMARK: String: limited to 96 registers per thread
__global__ void constant(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

// CHECK: template <typename T>
// CHECK-NEXT: __global__ void __maxnreg__(96) typed(
template <typename T>
__global__ void typed(T *x) { x[threadIdx.x] *= 2; }

// So few registers suffice for any block.
// CHECK: __global__ void anySize(
// FEW: __global__ void __maxnreg__(40) anySize(
__global__ void anySize(float *x) { x[threadIdx.x] *= 2.0f; }

void run(float *x, double *y, int n, int threads) {
  const int size = 512;
  constant<<<(n + size - 1) / size, size>>>(x, n);
  typed<<<1, dim3(16, 16)>>>(x);
  typed<<<1, 64>>>(y);
  anySize<<<1, threads>>>(x);
}
