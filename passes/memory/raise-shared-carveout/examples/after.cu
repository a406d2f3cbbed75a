// The kernel asks for all of it. The call costs the host little, and no state is kept to save it.
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
  // A preference: where it cannot be had the launch is as good as before.
  if (cudaFuncSetAttribute(mirrorRows, cudaFuncAttributePreferredSharedMemoryCarveout, 100) != cudaSuccess)
    cudaGetLastError();
  mirrorRows<<<rows, 256, columns * sizeof(float)>>>(x, y, columns);
}
