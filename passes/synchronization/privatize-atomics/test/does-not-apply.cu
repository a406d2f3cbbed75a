// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes='privatize-atomics{bins=12000}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed
#include <cuda_fp16.h>

// CHECK: Function: used
// CHECK: String: the kernel adds to no array by atomics whose results are not used
__global__ void used(int *count, int *y) {
  y[threadIdx.x] = atomicAdd(count, 1);
}

// CHECK: Function: halves
// CHECK: String: '''sum'' does not point to numbers that shared memory can add to'
__global__ void halves(__half *sum) {
  atomicAdd(sum, __half(1.0f));
}

// CHECK: Function: large
// CHECK: String: 12000 counters of 8 bytes do not fit the 48 KB of shared memory
__global__ void large(const int *__restrict__ x, unsigned long long *__restrict__ bins) {
  atomicAdd(&bins[x[threadIdx.x]], 1ull);
}

// CHECK: Function: taken
// CHECK: String: 12000 counters of 4 bytes do not fit the 48 KB of shared memory, of which 4096 bytes are taken
__global__ void taken(const int *__restrict__ x, int *__restrict__ bins) {
  __shared__ int part[1024];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  atomicAdd(&bins[part[255 - threadIdx.x]], 1);
}

// CHECK: Function: dynamic
// CHECK: String: the launch at line [[#]] asks for shared memory of its own
__global__ void dynamic(const unsigned char *__restrict__ x, int *__restrict__ bins) {
  extern __shared__ int part[];
  part[threadIdx.x] = x[threadIdx.x];
  atomicAdd(&bins[x[threadIdx.x]], 1);
}

// CHECK: Function: unseen
// CHECK: String: 'launches size the kernel''s shared memory, and not all of them are in sight'
__global__ void unseen(const unsigned char *__restrict__ x, int *__restrict__ bins) {
  extern __shared__ int part[];
  part[threadIdx.x] = x[threadIdx.x];
  atomicAdd(&bins[x[threadIdx.x]], 1);
}

// CHECK: Function: overlap
// CHECK: String: '''x'' and ''bins'' may overlap, and no launch is in sight that could choose a second kernel'
__global__ void overlap(const unsigned char *x, int *bins, int n) {
  for (int i = threadIdx.x; i < n; i += 256)
    atomicAdd(&bins[x[i]], 1);
}

// CHECK: Function: loaded
// CHECK: String: 'memory behind a pointer that is loaded and ''bins'' may overlap'
__global__ void loaded(const unsigned char *__restrict__ *x, int *bins, int n) {
  for (int i = threadIdx.x; i < n; i += 256)
    atomicAdd(&bins[x[i][0]], 1);
}

// CHECK: Function: twice
// CHECK: String: '''x'' and ''bins'' may overlap, and the launch at line [[#]] has arguments that cannot be evaluated twice'
__global__ void twice(const unsigned char *x, int *bins, int n) {
  for (int i = threadIdx.x; i < n; i += 256)
    atomicAdd(&bins[x[i]], 1);
}

// CHECK: Function: reads
// CHECK: String: 'the kernel uses ''bins'' for more than atomicAdd'
__global__ void reads(const unsigned char *__restrict__ x, int *__restrict__ bins) {
  if (bins[0] < 5)
    atomicAdd(&bins[x[threadIdx.x]], 1);
}

// CHECK: Function: middle
// CHECK: String: the kernel returns in the middle, at line [[#]]
__global__ void middle(const unsigned char *__restrict__ x, int *__restrict__ bins, int n) {
  for (int i = 0; i < n; ++i) {
    if (x[i] == 3)
      return;
    atomicAdd(&bins[x[i]], 1);
  }
}

// CHECK: Function: fenced
// CHECK: String: 'the kernel fences, so that others may wait for what it adds to ''bins'''
__global__ void fenced(const unsigned char *__restrict__ x, int *__restrict__ bins, int *__restrict__ flag) {
  atomicAdd(&bins[x[threadIdx.x]], 1);
  __threadfence();
  *flag = 1;
}

// CHECK: Function: macro
// CHECK: String: 'it comes from the macro ''COUNT'''
#define COUNT(bin) atomicAdd(&bins[bin], 1)
__global__ void macro(const unsigned char *__restrict__ x, int *__restrict__ bins) {
  COUNT(x[threadIdx.x]);
}

// CHECK: Function: either
// CHECK: String: 'instances of the template differ in the type of ''bins'''
template <typename T> __global__ void either(const unsigned char *__restrict__ x, T *__restrict__ bins) {
  atomicAdd(&bins[x[threadIdx.x]], T(1));
}

void run(const unsigned char *x, int *bins, unsigned *more, int n) {
  dynamic<<<1, 256, n * 4>>>(x, bins);
  twice<<<1, 256>>>(x++, bins, n);
  either<<<1, 256>>>(x, bins);
  either<<<1, 256>>>(x, more);
}
