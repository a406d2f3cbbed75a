__global__ void rowSum(float *y, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i)
    sum += x[row * columns + i];
  y[row] = sum;
}

// The lanes of a warp share one 'row', so that neighbouring threads read neighbouring
// elements.
__global__ void __launch_bounds__(256)
    rowSumRows(float *__restrict__ y, const float *__restrict__ x, int rows, int columns) {
  constexpr int lanes = 32, rowsPerBlock = 8, width = 4;
  const int lane = threadIdx.x;
  const int row = blockIdx.x * rowsPerBlock + threadIdx.y;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int first = lane * width; first < columns; first += lanes * width) {
    alignas(16) float xs[width];
    *reinterpret_cast<float4 *>(xs) =
        *reinterpret_cast<const float4 *>(&x[first + (size_t)row * columns]);
#pragma unroll
    for (int e = 0; e < width; ++e)
      sum += xs[e];
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (lane == 0)
    y[row] = sum;
}

void run(float *y, const float *x, int rows, int columns) {
  if (rows > 0 && columns <= 0x40000000 && columns % 4 == 0 &&
      (x + (long long)rows * columns <= y || y + rows <= x) && (size_t)x % 16 == 0)
    rowSumRows<<<(rows + 7) / 8, dim3(32, 8)>>>(y, x, rows, columns);
  else
    rowSum<<<(rows + 127) / 128, 128>>>(y, x, rows, columns);
}
