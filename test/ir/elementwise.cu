// A guarded elementwise kernel: unit strides, the guard as a domain, the launch's constants.
// RUN: kb-opt --emit=kb-ir %s | FileCheck %s

__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

void run(float *x, float *y, int n) { saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, x, y); }

// CHECK: kb.program "{{.*}}elementwise.cu"
// CHECK: kb.kernel @_Z5saxpyifPKfPf "saxpy"
// What the launch proves is not assumed: n of type int, in blocks of 256.
// CHECK-SAME: symbols [#kb.symbol<"n" param argument 0>] {
// CHECK-NEXT: kb.branch divergent "i < n" guard
// CHECK-NEXT: kb.access load global <argument "x" argument 2> bytes 4 type "f32" uniformity divergent at <: tid.x * 4 + bid.x * bdim.x * 4> where <with [n] : n - tid.x - bid.x * bdim.x - 1 >= 0 exact>
// CHECK-NEXT: kb.access load global <argument "y" argument 3>
// CHECK-NEXT: kb.access store global <argument "y" argument 3>
// CHECK-NEXT: kb.compute {ffma.f32 = 1 : i64
// CHECK: kb.launch @_Z5saxpyifPKfPf grid "(n + 255) / 256" [-1, 1, 1] block "256" [256, 1, 1] args ["n", "2.0f", "x", "y"]
