// Three kernels that share a variable, a table and functions.
__device__ int total;
__constant__ int table[4] = {10, 11, 12, 13};

__device__ __noinline__ int twice(int value) { return 2 * value; }
typedef int (*Change)(int);
__device__ Change change = twice;

extern "C" __global__ void first(int *data) { atomicAdd(&total, data[threadIdx.x]); }

extern "C" __global__ void second(int *data) {
  data[threadIdx.x] += total + CHANGED;
}

extern "C" __global__ void third(int *data) {
  __shared__ int tile[64];
  tile[63 - threadIdx.x] = change(data[threadIdx.x]);
  __syncthreads();
  data[threadIdx.x] = tile[63 - threadIdx.x] + table[threadIdx.x % 4];
}
