// A block of 256 threads for a row of about a hundred elements.
__global__ void rowSum(const float *x, float *y, int rows, int columns) {
  __shared__ float part[256];
  int row = blockIdx.x;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 256)
    sum += x[row * columns + i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    y[row] = part[0];
}

void run(const float *x, float *y, int rows, int columns) {
  rowSum<<<rows, 256>>>(x, y, rows, columns);
}
