// Two small tasks that have nothing to do with each other run one after the other.
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
  scale<<<(n + 127) / 128, 128>>>(x, y, n);
  sumRows<<<rows, 128>>>(matrix, sums, rows, columns);
}
