// A tile is read by rows and written by rows; it turns in shared memory.
__global__ void transpose(const float *in, float *out, int rows, int columns) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x;
  int row = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (row + j < rows && column < columns)
      tile[threadIdx.y + j][threadIdx.x] = in[(row + j) * columns + column];
  __syncthreads();
  int outColumn = blockIdx.y * 32 + threadIdx.x;
  int outRow = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (outRow + j < columns && outColumn < rows)
      out[(outRow + j) * rows + outColumn] = tile[threadIdx.x][threadIdx.y + j];
}

void run(const float *in, float *out, int rows, int columns) {
  dim3 block(32, 8), grid((columns + 31) / 32, (rows + 31) / 32);
  transpose<<<grid, block>>>(in, out, rows, columns);
}
