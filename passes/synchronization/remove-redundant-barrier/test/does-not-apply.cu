// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes=remove-redundant-barrier --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: exchanged
// CHECK: String: 'threads may exchange ''part'' between line [[#]] and line [[#]]'
__global__ void exchanged(const float *__restrict__ x, float *__restrict__ y) {
  __shared__ float part[128];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = part[threadIdx.x + 1];
}

// Also through global memory, and by overwriting what was read.
// CHECK: Function: global
// CHECK: String: 'threads may exchange ''y'' between line [[#]] and line [[#]]'
__global__ void global(float *y) {
  float next = y[threadIdx.x + 1];
  __syncthreads();
  y[threadIdx.x] = next;
}

// CHECK: Function: overlap
// CHECK: String: '''x'' and ''y'' may overlap, and the barrier orders their accesses; add-restrict-const may help'
__global__ void overlap(const float *x, float *y) {
  float next = x[threadIdx.x + 1];
  __syncthreads();
  y[threadIdx.x] = next;
}

// The next iteration's store may overtake this one's load.
// CHECK: Function: backEdge
// CHECK: String: 'threads may exchange ''part'' between line [[#]] and line [[#]]'
// CHECK: Function: backEdge
// CHECK: String: 'threads may exchange ''part'' between line [[#]] and line [[#]]'
__global__ void backEdge(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float part[128];
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    part[threadIdx.x] = x[k * 128 + threadIdx.x];
    __syncthreads();
    sum += part[127 - threadIdx.x];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// A barrier under a condition separates nothing.
// CHECK: Function: conditional
// CHECK: String: 'threads may exchange ''part'' between line [[#]] and line [[#]]'
// CHECK: Function: conditional
// CHECK: String: the barrier is no statement of its own in a block
__global__ void conditional(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float part[128];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (n > 5)
    __syncthreads();
  y[threadIdx.x] = part[127 - threadIdx.x];
}

// CHECK: Function: unknown
// CHECK: String: 'threads may exchange ''part'' between line [[#]] and line [[#]]: an address in ''part'' is not affine'
__global__ void unknown(const int *__restrict__ to, float *__restrict__ y) {
  __shared__ float part[128];
  part[to[threadIdx.x]] = 1;
  __syncthreads();
  y[threadIdx.x] = part[threadIdx.x];
}

// CHECK: Function: early
// CHECK: String: a loop with barriers is left early at line [[#]]
__global__ void early(float *y, int n) {
  for (int k = 0; k < n; ++k) {
    if (k == 7)
      break;
    __syncthreads();
    y[threadIdx.x] = k;
  }
}

// CHECK: Function: fenced
// CHECK: String: a fence or another kind of barrier stands beside it
__global__ void fenced(float *__restrict__ y, int *__restrict__ flag) {
  y[blockIdx.x * 128 + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    *flag = 1;
}

// CHECK: Function: published
// CHECK: String: an atomic after it may tell other blocks what was stored before it
__global__ void published(float *__restrict__ y, int *__restrict__ count) {
  y[blockIdx.x * 128 + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd(count, 1);
}

// CHECK: Function: assembly
// CHECK: String: 'the kernel does something beside it that is not understood: inline assembly'
__global__ void assembly(float *y) {
  asm volatile("membar.cta;" ::: "memory");
  __syncthreads();
  y[threadIdx.x] = 1;
}

// CHECK: Function: spins
// CHECK: String: '''part'' is volatile'
__global__ void spins(float *y) {
  __shared__ volatile float part[128];
  part[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = part[threadIdx.x];
}

// CHECK: Function: macro
// CHECK: String: 'it comes from the macro ''SYNC'''
#define SYNC() __syncthreads()
__global__ void macro(float *y) {
  y[threadIdx.x] = 1;
  SYNC();
}

void run(float *x, float *y, int *i, int n) {
  exchanged<<<1, 128>>>(x, y);
  global<<<1, 128>>>(y);
  overlap<<<1, 128>>>(x, y);
  backEdge<<<1, 128>>>(x, y, n);
  conditional<<<1, 128>>>(x, y, n);
  unknown<<<1, 128>>>(i, y);
  early<<<1, 128>>>(y, n);
  fenced<<<1, 128>>>(y, i);
  published<<<1, 128>>>(y, i);
  assembly<<<1, 128>>>(y);
  spins<<<1, 128>>>(y);
  macro<<<1, 128>>>(y);
}
