// The lanes of a warp touch 32 different rows.
__global__ void add(const float *a, const float *b, float *sum, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns)
    sum[row * columns + column] = a[row * columns + column] + b[row * columns + column];
}

void run(const float *a, const float *b, float *sum, int rows, int columns) {
  dim3 block(32, 8);
  dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
  add<<<grid, block>>>(a, b, sum, rows, columns);
}
