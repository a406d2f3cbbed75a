// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes=branch-to-select --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: stores
// CHECK: String: '''y[k]'' is stored to memory at line [[#]]'
__global__ void stores(const float *x, float *y, int n) {
  for (int k = 0; k < n; ++k)
    if (x[threadIdx.x] > k)
      y[k] = k;
}

// CHECK: Function: loads
// CHECK: String: an arm reads memory, calls or divides at line [[#]]
__global__ void loads(const float *x, float *y, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k)
    if (k + threadIdx.x < n)
      sum += x[k + threadIdx.x];
  y[threadIdx.x] = sum;
}

// CHECK: Function: divides
// CHECK: String: an arm reads memory, calls or divides at line [[#]]
__global__ void divides(const float *x, float *y) {
  float v = x[threadIdx.x];
  if (v > 1)
    v = 1 / v;
  else
    v = expf(v);
  y[threadIdx.x] = v;
}

// CHECK: Function: unset
// CHECK: String: '''v'' may have no value yet at line [[#]]'
__global__ void unset(const float *x, float *y) {
  float v;
  if (x[threadIdx.x] > 1)
    v = 1;
  else
    v = 2;
  y[threadIdx.x] = v;
}

// CHECK: Function: uniform
// CHECK: String: threads agree on the branch at line [[#]]
__global__ void uniform(float *y, int n) {
  float v = 0;
  for (int k = 0; k < n; ++k)
    if (k > 3)
      v += k;
  y[threadIdx.x] = v;
}

// CHECK: Function: calls
// CHECK: String: an arm does more than set variables at line [[#]]
__global__ void calls(const float *x, float *y) {
  float v = x[threadIdx.x];
  if (v > 1) {
    float w = v;
    v = w * w;
  } else {
    v = 1;
  }
  y[threadIdx.x] = v;
}

// CHECK: Function: costly
// CHECK: String: the arms at line [[#]] take 12 operations, more than a select should
__global__ void costly(const float *x, float *y) {
  float v = x[threadIdx.x];
  if (v > 1)
    v = v * v * v * v * v * v * v * v * v * v * v * v;
  else if (v < 0)
    y[threadIdx.x] = 1;
  y[threadIdx.x] = v;
}

// CHECK: Function: macro
// CHECK: String: 'it comes from the macro ''CLAMP'''
#define CLAMP(v)                                                                                   \
  if (v > 1)                                                                                       \
    v = 1;                                                                                         \
  else if (v < 0)                                                                                  \
    v = 0;
__global__ void macro(const float *x, float *y) {
  float v = x[threadIdx.x];
  CLAMP(v);
  y[threadIdx.x] = v;
}
