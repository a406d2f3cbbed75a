// The squares are written and read as floats; nobody but these two kernels sees them.
__global__ void square(const float *x, float *squares, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    squares[i] = x[i] * x[i];
}

__global__ void smooth(const float *squares, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 0.25f * squares[i > 0 ? i - 1 : i] + 0.5f * squares[i] + 0.25f * squares[i + 1 < n ? i + 1 : i];
}

void run(const float *x, float *y, int n) {
  float *squares;
  cudaMalloc(&squares, n * sizeof(float));
  square<<<(n + 255) / 256, 256>>>(x, squares, n);
  smooth<<<(n + 255) / 256, 256>>>(squares, y, n);
  cudaFree(squares);
}
