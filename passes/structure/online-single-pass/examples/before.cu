// Three passes over each row: maximum, sum, division.
__global__ void softmax(const float *x, float *y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  const float *in = x + row * columns;
  float largest = in[0];
  for (int i = 1; i < columns; ++i)
    largest = fmaxf(largest, in[i]);
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i)
    sum += expf(in[i] - largest);
  for (int i = 0; i < columns; ++i)
    y[row * columns + i] = expf(in[i] - largest) / sum;
}

void run(const float *x, float *y, int rows, int columns) {
  softmax<<<(rows + 63) / 64, 64>>>(x, y, rows, columns);
}
