// Where only the run knows whether the grid covers all elements, both kernels run: the new
// one at 640 elements, the original at 1000.
// RUN: kb-opt -passes='grid-stride-loop{perSM=1}' --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s 2>&1 | FileCheck %s --check-prefix=JUDGE
// CHECK: if ((long long)blocks * 64 >= n && n <= 1 << 30)
// CHECK-NEXT: {{s}}caleStrided<<<{{b}}locks2, 64>>>(x, n);
// CHECK-NEXT: else
// CHECK-NEXT: scale<<<blocks, 64>>>(x, n);
// JUDGE: {{^}}correct{{$}}
//
// kb-workload:
//   entry: run
//   sizes: {n: 640, blocks: 10}
//   test-sizes: [{n: 1000, blocks: 10}, {n: 0, blocks: 1}, {n: 1, blocks: 10}, {n: 20000, blocks: 400}]
//   parameters:
//     - {name: x, type: f32, shape: n+1, role: inout}
//     - {name: n, value: n}
//     - {name: blocks, value: blocks}
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}
void run(float *x, int n, int blocks) { scale<<<blocks, 64>>>(x, n); }
