// Kernels that collect already, and counters whose type shared memory cannot add to, stay.
// RUN: kb-opt -passes=privatize-atomics --quiet -o %t %s
// RUN: diff %s %t
#include <cuda_fp16.h>

__global__ void collected(const unsigned char *__restrict__ x, unsigned *__restrict__ bins, int n) {
  __shared__ unsigned part[256];
  part[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256)
    atomicAdd(&part[x[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], part[threadIdx.x]);
}

__global__ void weights(const unsigned char *__restrict__ x, __half *__restrict__ bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&bins[x[i]], __half(0.5f));
}

void run(const unsigned char *x, unsigned *bins, __half *sums, int n) {
  collected<<<1, 256>>>(x, bins, n);
  weights<<<1, 256>>>(x, sums, n);
}
