// One grid: the first blocks sum rows, which takes longest, the others scale. All threads of a block go the same way.
__device__ void scaleBlock(int block, const float *x, float *y, int n) {
  int i = block * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 2.0f * x[i];
}

__device__ void sumRow(int row, const float *matrix, float *sums, int columns) {
  __shared__ float part[128];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 128)
    sum += matrix[row * columns + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 1; t < 128; ++t)
      sum += part[t];
    sums[row] = sum;
  }
}

__global__ void sumRowsAndScale(const float *x, float *y, const float *matrix, float *sums, int n, int rows, int columns) {
  if (blockIdx.x < rows)
    sumRow(blockIdx.x, matrix, sums, columns);
  else
    scaleBlock(blockIdx.x - rows, x, y, n);
}

__global__ void scale(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 2.0f * x[i];
}

__global__ void sumRows(const float *matrix, float *sums, int rows, int columns) {
  __shared__ float part[128];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += 128)
    sum += matrix[blockIdx.x * columns + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 1; t < 128; ++t)
      sum += part[t];
    sums[blockIdx.x] = sum;
  }
}

void run(const float *x, float *y, const float *matrix, float *sums, int n, int rows, int columns) {
  sumRowsAndScale<<<rows + (n + 127) / 128, 128>>>(x, y, matrix, sums, n, rows, columns);
}
