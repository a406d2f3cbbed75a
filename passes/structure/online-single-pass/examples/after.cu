// Maximum and sum in one pass: the sum is rescaled when a larger element appears.
__global__ void softmax(const float *x, float *y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  const float *in = x + row * columns;
  float largest = in[0], sum = 1.0f;
  for (int i = 1; i < columns; ++i) {
    float next = fmaxf(largest, in[i]);
    if (next == -INFINITY) // masked so far: the difference below would be no number
      continue;
    sum = sum * expf(largest - next) + expf(in[i] - next);
    largest = next;
  }
  for (int i = 0; i < columns; ++i)
    y[row * columns + i] = expf(in[i] - largest) / sum;
}

void run(const float *x, float *y, int rows, int columns) {
  softmax<<<(rows + 63) / 64, 64>>>(x, y, rows, columns);
}
