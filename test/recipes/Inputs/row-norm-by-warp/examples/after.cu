__device__ float sumOfWarp(float value) {
  for (int step = 16; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffff, value, step);
  return value;
}
__global__ void rowNorm(float *y, const float *x, int rows, int width) {
  int row = blockIdx.x, lane = threadIdx.x;
  float sum = 0;
  for (int j = lane; j < width; j += 32)
    sum += x[row * width + j] * x[row * width + j];
  float scale = rsqrtf(sumOfWarp(sum) + 1.0f);
  for (int j = lane; j < width; j += 32)
    y[row * width + j] = scale * x[row * width + j];
}
void normalise(float *y, const float *x, int rows, int width) { rowNorm<<<rows, 32>>>(y, x, rows, width); }
