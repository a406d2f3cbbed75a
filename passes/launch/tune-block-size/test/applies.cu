// RUN: kb-opt -passes='tune-block-size{size=512}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

__global__ void guarded(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  x[i] *= 2.0f;
}

int divideUp(int a, int b) { return (a + b - 1) / b; }

void run(float *x, int n) {
  // The grid has a constant of its own, which follows.
  // CHECK: guarded<<<(n + 511) / 512, 512>>>(x, n);
  // REMARK: String: launched with 512 threads per block instead of 128
  guarded<<<(n + 127) / 128, 128>>>(x, n);

  // A dim3, from which the grid is computed.
  // CHECK: dim3 block(512);
  // CHECK: dim3 grid((n + block.x - 1) / block.x);
  dim3 block(96);
  dim3 grid((n + block.x - 1) / block.x);
  guarded<<<grid, block>>>(x, n);

  // A function that divides and rounds up.
  // CHECK: int size = 512;
  int size = 1024;
  guarded<<<divideUp(n, size), size>>>(x, n);
}
