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

// Rows are apart only as long as row * n fits an int, which unsigned arithmetic does
// not promise.
// CHECK: Function: mayWrap
// CHECK: String: {{.*}}the loop stores to ''a'', which may change ''a''; {{.*}} are disjoint only if {{.*}}, which is not proven
__global__ void mayWrap(float *a, int n) {
  int row = threadIdx.x * n;
  for (int k = 1; k < n; ++k)
    a[row + k] = a[row] * 2.0f;
}

// Another thread writes it between two barriers of the loop.
// CHECK: Function: exchanges
// CHECK: String: {{.*}}the kernel stores to ''box'', which may change ''box''
__global__ void exchanges(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float box[32];
  box[threadIdx.x] = x[threadIdx.x];
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    sum += box[31 - threadIdx.x];
    __syncthreads();
    box[threadIdx.x] = sum;
  }
  y[threadIdx.x] = sum;
}

// A declaration in front of the loop would be jumped over by the next case.
// CHECK: Function: inSwitch
// CHECK: String: the loop does not stand in a block of its own without labels
__global__ void inSwitch(const float *__restrict__ a, float *__restrict__ y, int n, int mode) {
  int i = threadIdx.x;
  switch (mode) {
  case 0:
    y[i] = 0;
    for (int k = 0; k < n; ++k)
      y[i * n + k] = a[i];
    break;
  default:
    y[i] = 1;
  }
}

// CHECK: Function: macro
// CHECK: String: 'an invariant expression stays: it comes from the macro ''FACTOR'''
#define FACTOR sqrtf(2.0f / float(n))
__global__ void macro(const float *__restrict__ x, float *__restrict__ y, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k)
    y[i * n + k] = x[i * n + k] * FACTOR;
}

// CHECK: Function: updatedByAll
// CHECK: String: {{.*}}may change ''counts''
__global__ void updatedByAll(int *counts, int *y, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    atomicAdd(&counts[k], 1);
    y[k] = counts[i];
  }
}
