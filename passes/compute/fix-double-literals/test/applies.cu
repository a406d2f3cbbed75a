// RUN: kb-opt -passes=fix-double-literals --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// CHECK-LABEL: void assignments
// CHECK: y[i] = x[i] * 2.0f;
// CHECK: y[i] *= 0.25f;
// CHECK: y[i] = x[i] > 1e-3f ? x[i] : -0.5f;
// CHECK: float z = max(x[i], 0.f);
// REMARK: Function: assignments
// REMARK: String: made 5 double literals float
__global__ void assignments(const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = x[i] * 2.0;
  y[i] *= 0.25;
  y[i] = x[i] > 1e-3 ? x[i] : -0.5;
  float z = max(x[i], 0.);
  y[i] += z;
}

// Integers and functions with a float form are no obstacle.
// CHECK-LABEL: void functions
// CHECK: y[i] = sqrt(x[i] + 1.0f) / (n * 3.0f) + exp(-1.5f * x[i]);
// REMARK: Function: functions
__global__ void functions(const float *x, float *y, int n) {
  int i = threadIdx.x;
  y[i] = sqrt(x[i] + 1.0) / (n * 3.0) + exp(-1.5 * x[i]);
}

// One expression with a double variable does not spoil the others.
// CHECK-LABEL: void partly
// CHECK: y[i] = x[i] * 2.0f;
// CHECK: z[i] = x[i] * scale * 3.0;
// REMARK: Function: partly
// REMARK: String: made 1 double literal float
__global__ void partly(const float *x, float *y, float *z, double scale) {
  int i = threadIdx.x;
  y[i] = x[i] * 2.0;
  z[i] = x[i] * scale * 3.0;
}

// Device functions that the kernel calls, and macros that are a literal.
// CHECK: return x * 0.1f;
// CHECK: return tenth(x) + x * 0.3f;
// CHECK-LABEL: void called
// CHECK: y[i] = deep(x[i]) + x[i] * static_cast<float>(TENTH) - static_cast<float>(PARENS);
// REMARK: Function: called
// REMARK: String: made 4 double literals float
#define TENTH 0.1
#define PARENS ((0.7))
__device__ float tenth(float x) { return x * 0.1; }
__device__ float deep(float x);
__device__ float deep(float x) { return tenth(x) + x * 0.3; }
__global__ void called(const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = deep(x[i]) + x[i] * TENTH - PARENS;
}
