// 34 KB per block: with a carve-out of 100 KB two blocks fit on an SM, with all of it six.
__global__ void mirrorRows(const float *x, float *y, int columns) {
  extern __shared__ float row[];
  const float *from = x + blockIdx.x * columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    row[i] = from[i];
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = row[columns - 1 - i];
}

void run(const float *x, float *y, int rows, int columns) {
  mirrorRows<<<rows, 256, columns * sizeof(float)>>>(x, y, columns);
}
