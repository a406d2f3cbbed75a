// What passes by once is evicted first; the weights stay. The index is computed once for load and store.
__global__ void scaleColumns(const float *x, const float *weights, float *y, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns)
    return;
  for (int row = blockIdx.y; row < rows; row += gridDim.y) {
    int i = row * columns + column;
    __stcs(&y[i], __ldcs(&x[i]) * weights[column]);
  }
}

void run(const float *x, const float *weights, float *y, int rows, int columns) {
  scaleColumns<<<dim3((columns + 127) / 128, 16), 128>>>(x, weights, y, rows, columns);
}
