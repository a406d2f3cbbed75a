// RUN: kb-opt -passes=add-restrict-const --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed
#include <cuda_runtime.h>

// CHECK: Function: inPlace
// CHECK: String: '''x'' is passed twice'
__global__ void inPlace(const float *a, float *b) { b[threadIdx.x] = a[31 - threadIdx.x]; }

// CHECK: Function: withOffset
// CHECK: String: {{.*}}are parts of one allocation
// CHECK: Function: withOffset
__global__ void withOffset(const float *a, float *b) { b[threadIdx.x] = a[threadIdx.x]; }

// CHECK: Function: notLaunched
// CHECK: String: {{.*}}no launch of ''notLaunched'' is in sight
// CHECK: Function: notLaunched
__global__ void notLaunched(const float *a, float *b) { b[threadIdx.x] = a[threadIdx.x]; }

// CHECK: Function: saysAlready
// CHECK: String: '''a'' says already what it can'
// CHECK: Function: saysAlready
// CHECK: String: '{{.*}}''b''{{.*}}'
__global__ void saysAlready(const float *__restrict__ a, float *__restrict__ b) {
  b[threadIdx.x] = a[threadIdx.x];
}

// A row pointer that the kernel loads may lead anywhere.
// CHECK: Function: followsPointers
// CHECK: String: {{.*}}reaches memory in a way that is not understood
// CHECK: Function: followsPointers
__global__ void followsPointers(float *const *rows, float *b) {
  b[threadIdx.x] = rows[threadIdx.x][0];
  rows[threadIdx.x][1] = 0;
}

typedef const float *Input;
// CHECK: Function: throughTypedef
// CHECK: String: '''a'' is not written as a pointer'
__global__ void throughTypedef(Input a) {
  if (a[threadIdx.x] < 0)
    __trap();
}

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(float *a) { a[threadIdx.x] = 0; } // NOKBOPT

// Launched with other arguments through the pointer, perhaps with x twice.
// CHECK: Function: pointedTo
// CHECK: String: {{.*}}''pointedTo'' outside launches
// CHECK: Function: pointedTo
__global__ void pointedTo(const float *a, float *b) { b[threadIdx.x] = a[threadIdx.x]; }
void (*later)(const float *, float *) = pointedTo;

// The instances of the host differ in what they pass.
// CHECK: Function: twoHosts
// CHECK: String: {{.*}}are not in sight
// CHECK: Function: twoHosts
__global__ void twoHosts(const float *a, float *b) { b[threadIdx.x] = a[threadIdx.x] * 2; }
template <bool InPlace> void launch(float *x, float *y) {
  twoHosts<<<1, 32>>>(InPlace ? y : x, y);
}

__device__ float *reached;
__device__ __noinline__ float sumOf(int depth) {
  return depth ? reached[depth] + sumOf(depth - 1) : 0;
}
// What the recursive function reads, the IR does not show.
// CHECK: Function: callsAway
// CHECK: String: {{.*}}reaches memory in a way that is not understood
__global__ void callsAway(float *b, int n) { b[threadIdx.x] = sumOf(n); }

int main() {
  float *x, *y, **rows;
  cudaMalloc(&x, 4096);
  cudaMalloc(&y, 4096);
  cudaMalloc(&rows, 4096);
  inPlace<<<1, 32>>>(x, x);
  withOffset<<<1, 32>>>(x, x + 1);
  saysAlready<<<1, 32>>>(x, y);
  followsPointers<<<1, 32>>>(rows, y);
  throughTypedef<<<1, 32>>>(x);
  suppressed<<<1, 32>>>(x);
  pointedTo<<<1, 32>>>(x, y);
  launch<false>(x, y);
  launch<true>(x, y);
  callsAway<<<1, 32>>>(x, 4);
  return 0;
}
