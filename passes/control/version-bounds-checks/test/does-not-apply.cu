// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes=version-bounds-checks --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: single
// CHECK: String: a single guard per thread costs less than a second body
__global__ void single(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = i;
}

// CHECK: Function: unknown
// CHECK: String: no guard compares an index whose values in a block are known before
__global__ void unknown(const int *from, float *y, int n) {
  for (int k = 0; k < 3; ++k)
    if (from[k] < n)
      y[from[k]] = k;
}

// A lower check alone: the index may have wrapped at the top.
// CHECK: Function: lower
// CHECK: String: no guard compares an index whose values in a block are known before
__global__ void lower(float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 3; ++k)
    if (i - k >= 0)
      y[i - k] = k;
}

// CHECK: Function: shared
// CHECK: String: '''part'' would exist twice'
__global__ void shared(const float *x, float *y, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 3; ++k)
    if (i + k < n)
      part[threadIdx.x] += x[i + k];
  y[i] = part[threadIdx.x];
}

// Without the guard the product would join the sum in one rounding.
// CHECK: Function: rounded
// CHECK: String: the product behind the guard at line [[#]] could be rounded in another way
__global__ void rounded(const float *x, float *y, float w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 3; ++k)
    sum += i + k < n ? w * x[i + k] : 0.0f;
  y[i] = sum;
}

// CHECK: Function: moves
// CHECK: String: no guard compares an index whose values in a block are known before
__global__ void moves(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 3; ++k) {
    if (i < n)
      y[i] = x[i];
    i += n;
  }
}

// CHECK: Function: shrinks
// CHECK: String: no guard compares an index whose values in a block are known before
__global__ void shrinks(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 3; ++k, --n)
    if (i < n)
      y[i] = x[i];
}

// CHECK: Function: macro
// CHECK: String: {{.*}}
#define INSIDE(i) ((i) >= 0 && (i) < n)
__global__ void macro(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 3; ++k)
    if (INSIDE(i + k))
      y[i] += x[i + k];
}

// CHECK: Function: packs
// CHECK: String: the template has a parameter that cannot be named in a call
template <typename... T> __global__ void packs(float *y, int n, T... values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 3; ++k)
    if (i + k < n)
      y[i + k] = k;
}
template __global__ void packs<int>(float *, int, int);
