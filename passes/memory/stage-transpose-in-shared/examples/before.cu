// The lanes of a warp read a row and write a column.
__global__ void transpose(const float *in, float *out, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns)
    out[column * rows + row] = in[row * columns + column];
}

void run(const float *in, float *out, int rows, int columns) {
  dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  transpose<<<grid, block>>>(in, out, rows, columns);
}
