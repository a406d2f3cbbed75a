__global__ void center(float *y, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i)
    sum += x[row * columns + i];
  float mean = sum / columns;
  for (int i = 0; i < columns; ++i)
    y[row * columns + i] = x[row * columns + i] - mean;
}

void run(float *y, const float *x, int rows, int columns) {
  center<<<(rows + 127) / 128, 128>>>(y, x, rows, columns);
}
