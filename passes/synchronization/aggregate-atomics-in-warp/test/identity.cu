// Atomics that one lane does already, and those of floating-point numbers, stay.
// RUN: kb-opt -passes=aggregate-atomics-in-warp --quiet -o %t %s
// RUN: diff %s %t
__global__ void byOne(const int *x, int *total, float *sum, int n) {
  const int lane = threadIdx.x % 32;
  int value = __reduce_add_sync(0xffffffffu, x[threadIdx.x]);
  if (lane == 0)
    atomicAdd(total, value);
  if (!(threadIdx.x & 31) && n > 3)
    atomicAdd(total, 1);
  atomicAdd(sum, 1.0f);
}
