// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes=cache-hint-streaming --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: neighbours
// CHECK: String: '''x'' is not known to be touched once: accesses to ''x'' meet'
__global__ void neighbours(const float *__restrict__ x, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i + 1 < n ? x[i] + x[i + 1] : 0;
  __syncthreads();
}

// CHECK: Function: twice
// CHECK: String: '''x'' is not known to be touched once: {{.*}}
__global__ void twice(const float *__restrict__ x, float *y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 64; ++k)
    sum += x[row * 64 + k];
  for (int k = 0; k < 64; ++k)
    sum += x[row * 64 + k] * sum;
  atomicAdd(y, sum);
}

// CHECK: Function: gather
// CHECK: String: '''x'' is not known to be touched once: {{.*}}not affine
// CHECK: String: '''y'' is passed on or moved at line [[#]]'
__global__ void gather(const float *__restrict__ x, const int *from, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y += 1;
  if (i < n)
    y[i] = x[from[i]];
}

// CHECK: Function: mayOverlap
// CHECK: String: '''x'' and ''y'' may overlap; add-restrict-const may help'
// CHECK: String: '''y'' is read and written at line [[#]]'
__global__ void mayOverlap(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += x[i];
}

// CHECK: Function: writable
// CHECK: String: '''x'' is not declared const; add-restrict-const may help'
// CHECK: String: '''y'' is read and written, so that what it writes is in the cache already'
__global__ void writable(float *__restrict__ x, float *__restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + y[i];
}

// CHECK: Function: flags
// CHECK: String: 'elements of type ''bool'' have no load or store with a hint'
// CHECK: String: '''v'' is assigned in part at line [[#]]'
__global__ void flags(bool *f, float4 *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    f[i] = true;
    v[i].x = 1;
  }
}

// CHECK: Function: macro
// CHECK: String: '''y'' cannot be changed at line [[#]]: it comes from the macro ''STORE'''
#define STORE(value) y[i] = value
__global__ void macro(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    STORE(1);
}

// CHECK: Function: chained
// CHECK: String: '''x'' is assigned in a larger expression at line [[#]]'
__global__ void chained(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float one = 0;
  if (i < n)
    one = x[i] = 1;
}

// CHECK: Function: comesBack
// CHECK: String: '''y'' is not known to be touched once: loop ''k'' comes back to the same elements of ''y'''
__global__ void comesBack(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k) {
    y[i] = k;
    __syncthreads();
  }
}

// CHECK: Function: untouched
// CHECK: String: '''x'' is not read or written in the kernel''s text'
__global__ void untouched(const float *x) {}
