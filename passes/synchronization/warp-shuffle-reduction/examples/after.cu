// A warp adds up in registers; only one value per warp goes through shared memory.
__device__ float warpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

__global__ void sum(const float *x, float *total, int n) {
  __shared__ float part[8];
  int i = blockIdx.x * 256 + threadIdx.x;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float value = warpSum(i < n ? x[i] : 0.0f);
  if (lane == 0)
    part[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = warpSum(lane < 8 ? part[lane] : 0.0f);
    if (lane == 0)
      total[blockIdx.x] = value;
  }
}

void run(const float *x, float *total, int n) {
  sum<<<(n + 255) / 256, 256>>>(x, total, n);
}
