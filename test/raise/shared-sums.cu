// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// Rows add to sums of the block in shared memory, which the block adds to global memory: the same as rows that add to global memory. In a block that
// some warps have left, elements would be missing, so that the launch must not have one.
__global__ void gradients(float *dw, float *db, float *total, const float *dy, const float *x, int n, int c) {
  extern __shared__ float sums[];
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= n)
    return;
  float *bias = sums, *weight = sums + c;
  for (int i = threadIdx.x; i < c; i += blockDim.x) {
    bias[i] = 0.0f;
    weight[i] = 0.0f;
  }
  __syncthreads();
  float all = 0.0f;
  for (int i = lane; i < c; i += 32)
    all += dy[row * c + i];
  for (int offset = 16; offset > 0; offset /= 2)
    all += __shfl_xor_sync(0xffffffff, all, offset);
  if (lane == 0)
    total[row] = all;
  for (int i = lane; i < c; i += 32) {
    atomicAdd(&bias[i], dy[row * c + i]);
    atomicAdd(&weight[i], dy[row * c + i] * x[row * c + i]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < c; i += blockDim.x) {
    atomicAdd(&db[i], bias[i]);
    atomicAdd(&dw[i], weight[i]);
  }
}
// CHECK-LABEL: kb.nest @_Z9gradientsPfS_S_PKfS1_ii dims ["row"]
// CHECK-SAME: : n - gdim.x * (bdim.x floordiv 32)>
// CHECK: kb.store <element <argument "db" argument 1> {{.*}} atomic "atomicAdd" "$0"
// CHECK: kb.store <element <argument "dw" argument 0> {{.*}} atomic "atomicAdd" "$0 * $1"

// Without the barrier before the end, some threads' sums may come too late.
__global__ void early(float *db, const float *dy, int c) {
  extern __shared__ float bias[];
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    bias[i] = 0.0f;
  __syncthreads();
  for (int i = lane; i < c; i += 32)
    atomicAdd(&bias[i], dy[row * c + i]);
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    atomicAdd(&db[i], bias[i]);
}
// CHECK: kb.unraised @_Z5earlyPfPKfi

// The sums are used for something else, too.
__global__ void used(float *db, float *first, const float *dy, int c) {
  extern __shared__ float bias[];
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    bias[i] = 0.0f;
  __syncthreads();
  for (int i = lane; i < c; i += 32)
    atomicAdd(&bias[i], dy[row * c + i]);
  __syncthreads();
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    atomicAdd(&db[i], bias[i]);
  if (threadIdx.x == 0)
    first[blockIdx.x] = bias[0];
}
// CHECK: kb.unraised @_Z4usedPfS_PKfi

// They do not start at 0.
__global__ void startsAtOne(float *db, const float *dy, int c) {
  extern __shared__ float bias[];
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    bias[i] = 1.0f;
  __syncthreads();
  for (int i = lane; i < c; i += 32)
    atomicAdd(&bias[i], dy[row * c + i]);
  __syncthreads();
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    atomicAdd(&db[i], bias[i]);
}
// CHECK: kb.unraised @_Z11startsAtOnePfPKfi
