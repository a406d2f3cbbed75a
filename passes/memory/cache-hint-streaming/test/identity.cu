// Marked accesses, and data that neighbours share, stay as they are.
// RUN: kb-opt -passes=cache-hint-streaming --quiet -o %t %s
// RUN: diff %s %t
__global__ void marked(const float *__restrict__ x, float *__restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    __stcs(&y[i], __ldcs(&x[i]));
}

__global__ void table(const float *__restrict__ weights, const int *__restrict__ keys, int n) {
  __shared__ float part[256];
  part[threadIdx.x] = weights[keys[blockIdx.y] % n];
  __syncthreads();
}
