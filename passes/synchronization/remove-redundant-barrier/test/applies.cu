// RUN: kb-opt -passes=remove-redundant-barrier --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// Of two neighbours one goes.
// CHECK-LABEL: void neighbours
// CHECK: part[t] = x[t];
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: y[t] = part[127 - t];
// REMARK: !Passed
// REMARK: Function: neighbours
// REMARK: String: removed a barrier that ordered nothing
// REMARK: Function: neighbours
// REMARK: String: 'threads may exchange ''part'' between line [[#]] and line [[#]]'
__global__ void neighbours(const float *__restrict__ x, float *__restrict__ y) {
  __shared__ float part[128];
  int t = threadIdx.x;
  part[t] = x[t];
  __syncthreads();
  __syncthreads();
  y[t] = part[127 - t];
}

// Threads that keep to their own element need none, around the loop neither; a template's instances all agree.
// CHECK-LABEL: void own
// CHECK: for (int k = 0; k < n; ++k) {
// CHECK-NEXT: mine[threadIdx.x] += x[k * 128 + threadIdx.x];
// CHECK-NEXT: }
template <typename T> __global__ void own(const T *__restrict__ x, T *__restrict__ y, int n) {
  __shared__ T mine[128];
  mine[threadIdx.x] = 0;
  for (int k = 0; k < n; ++k) {
    mine[threadIdx.x] += x[k * 128 + threadIdx.x];
    __syncthreads();
  }
  y[threadIdx.x] = mine[threadIdx.x];
}

// The barrier at the end goes, the one in the device function is not looked at.
// CHECK-LABEL: void helper
// CHECK: fill(part, x);
// CHECK-NEXT: y[threadIdx.x] = part[127 - threadIdx.x];
// CHECK-NEXT: }
__device__ void fill(float *part, const float *x) {
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
}
__global__ void helper(const float *__restrict__ x, float *__restrict__ y) {
  __shared__ float part[128];
  fill(part, x);
  y[threadIdx.x] = part[127 - threadIdx.x];
  __syncthreads();
}

void run(const float *x, float *y, const int *i, int *j, int n) {
  neighbours<<<1, 128>>>(x, y);
  own<<<1, 128>>>(x, y, n);
  own<<<1, 128>>>(i, j, n);
  helper<<<1, 128>>>(x, y);
}
