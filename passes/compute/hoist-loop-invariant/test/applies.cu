// RUN: kb-opt -passes=hoist-loop-invariant --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// A loop that runs for certain needs no condition; one name serves both uses.
// CHECK-LABEL: void certain
// CHECK: const float [[A:hoistedA[0-9]*]] = a[i];
// CHECK-NEXT: for (int k = 0; k < 16; ++k)
// CHECK-NEXT: y[i * 16 + k] = x[k] * [[A]] + [[A]];
// REMARK: Function: certain
// REMARK: String: 'computed ''a[i]'' before the loop'
__global__ void certain(const float *__restrict__ a, const float *__restrict__ x,
                        float *__restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 16; ++k)
    y[i * 16 + k] = x[k] * a[i] + a[i];
}

// Division by a value that stays.
// CHECK-LABEL: void division
// CHECK: const float [[H:hoisted[0-9]*]] = 1.0f / scale;
// CHECK-NEXT: for (int k = 0; k < n; ++k)
// CHECK-NEXT: y[i * n + k] = x[i * n + k] * ([[H]]);
__global__ void division(const float *__restrict__ x, float *__restrict__ y, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k)
    y[i * n + k] = x[i * n + k] * (1.0f / scale);
}

// What a macro stands for stays where it is.
// CHECK-LABEL: void besideMacro
// CHECK: const float [[A2:hoistedA[0-9]*]] = a[i];
// CHECK-NEXT: for (int k = 0; k < 16; ++k)
// CHECK-NEXT: y[i * 16 + k] = x[k] * [[A2]] * FACTOR;
#define FACTOR sqrtf(2.0f / float(n))
__global__ void besideMacro(const float *__restrict__ a, const float *__restrict__ x,
                            float *__restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 16; ++k)
    y[i * 16 + k] = x[k] * a[i] * FACTOR;
}

// A name that is taken is not taken again.
// CHECK-LABEL: void nameTaken
// CHECK: const float hoistedB{{[0-9]}} =
__global__ void nameTaken(const float *__restrict__ b, float *__restrict__ y, float hoistedB) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 16; ++k)
    y[i * 16 + k] = b[i] + hoistedB;
}

// The rows are apart because the launch shows how large row * n gets; without it
// unsigned arithmetic might wrap.
// CHECK-LABEL: void rowsApart
// CHECK: const float [[ROW:hoistedA[0-9]*]] = (1 < n) ? a[row] : 0;
// CHECK-NEXT: for (int k = 1; k < n; ++k)
// CHECK-NEXT: a[row + k] = [[ROW]] * 2.0f;
__global__ void rowsApart(float *a, int n) {
  int row = threadIdx.x * n;
  for (int k = 1; k < n; ++k)
    a[row + k] = a[row] * 2.0f;
}

void launchRowsApart(float *a) { rowsApart<<<1, 128>>>(a, 1000); }
