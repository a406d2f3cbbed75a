// One warp per row: softmax, and the logarithm of the row's sum for the backward pass.
__global__ void softmax(const float *x, float *y, float *logSum, int rows, int columns) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  x += row * columns;
  y += row * columns;
  float largest = -INFINITY;
  for (int i = lane; i < columns; i += 32)
    largest = fmaxf(largest, x[i]);
  for (int offset = 16; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  // The argument is at most 0; where __expf is bad the result is next to nothing.
  float sum = 0.0f;
  for (int i = lane; i < columns; i += 32)
    sum += __expf(x[i] - largest);
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  // The sum is at least 1 and the same for the row: one reciprocal.
  float scale = __fdividef(1.0f, sum);
  for (int i = lane; i < columns; i += 32)
    y[i] = __expf(x[i] - largest) * scale;
  // Once per row, and near 0 for a sum near 1, where __logf is bad: it stays.
  if (lane == 0)
    logSum[row] = largest + logf(sum);
}

void run(const float *x, float *y, float *logSum, int rows, int columns) {
  softmax<<<(rows + 3) / 4, 128>>>(x, y, logSum, rows, columns);
}
