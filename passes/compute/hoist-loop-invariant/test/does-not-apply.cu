// RUN: kb-opt -passes=hoist-loop-invariant --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: changesEachTime
// CHECK: String: nothing that is worth moving is the same in every iteration
__global__ void changesEachTime(const float *__restrict__ x, float *__restrict__ y, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k)
    y[i * n + k] = x[i * n + k];
}

// The loop stores to the array that it reads.
// CHECK: Function: storesToIt
// CHECK: !Missed
__global__ void storesToIt(float *a, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k)
    a[k] = a[i] + 1.0f;
}

// The pointers may be the same.
// CHECK: Function: mayAlias
// CHECK: !Missed
__global__ void mayAlias(const float *a, float *y, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k)
    y[k] = a[i];
}

// CHECK: Function: underCondition
// CHECK: String: '''a[i]'' is computed under a condition'
__global__ void underCondition(const float *__restrict__ a, float *__restrict__ y, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k)
    if (k & 1)
      y[i * n + k] = a[i];
}

// CHECK: Function: leavesEarly
// CHECK: String: '''a[i]'' is computed under a condition'
__global__ void leavesEarly(const float *__restrict__ a, const float *__restrict__ x,
                            float *__restrict__ y, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    if (x[k] < 0)
      break;
    y[i * n + k] = a[i];
  }
}

// Whether the loop runs at all is decided in the loop itself.
// CHECK: Function: mayNotRun
// CHECK: String: {{.*}}may run no iteration
__global__ void mayNotRun(const float *__restrict__ a, float *__restrict__ y, int n) {
  int i = threadIdx.x;
  int k = n;
  while (k > 0) {
    --k;
    y[i * n + k] = a[i];
  }
}

// CHECK: Function: isVolatile
// CHECK: !Missed
__global__ void isVolatile(const volatile float *a, float *__restrict__ y, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k)
    y[i * n + k] = a[i];
}

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(const float *__restrict__ a, float *__restrict__ y, int n) {
  int i = threadIdx.x;
  // NOKBOPTNEXTLINE
  for (int k = 0; k < n; ++k)
    y[i * n + k] = a[i];
}
