// A block adds up one row: in registers, then by warp, then over warps.
constexpr int kThreads = 256;

__device__ float warpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

__global__ void rowSum(const float *x, float *y, int rows, int columns) {
  __shared__ float part[kThreads / 32];
  int row = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += kThreads)
    sum += x[row * columns + i];
  sum = warpSum(sum);
  if (lane == 0)
    part[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warpSum(lane < kThreads / 32 ? part[lane] : 0.0f);
    if (lane == 0)
      y[row] = sum;
  }
}

void run(const float *x, float *y, int rows, int columns) {
  rowSum<<<rows, kThreads>>>(x, y, rows, columns);
}
