// The lanes of a warp touch 32 different rows.
__global__ void add(const float *a, const float *b, float *sum, int rows, int columns) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  int column = blockIdx.y * blockDim.x + threadIdx.x;
  if (row < rows && column < columns)
    sum[row * columns + column] = a[row * columns + column] + b[row * columns + column];
}

void run(const float *a, const float *b, float *sum, int rows, int columns) {
  dim3 block(32, 8);
  dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
  add<<<grid, dim3(block.y, block.x, block.z)>>>(a, b, sum, rows, columns);
}
