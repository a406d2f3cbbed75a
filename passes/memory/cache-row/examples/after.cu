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

// The lanes of a warp share one 'row', so that neighbouring threads read neighbouring
// elements; what is read again waits in registers.
__global__ void __launch_bounds__(256)
    center_rows(float *__restrict__ y, const float *__restrict__ x, int rows, int columns) {
  constexpr int lanes = 32, rowsPerBlock = 8, width = 4, chunks = 8;
  const int lane = threadIdx.x;
  const int row = blockIdx.x * rowsPerBlock + threadIdx.y;
  if (row >= rows)
    return;
  float sum = 0.0f;
  alignas(16) float xs[chunks][width];
#pragma unroll
  for (int k = 0; k < chunks; ++k) {
    const int first = (k * lanes + lane) * width;
    if (first < columns)
      *reinterpret_cast<float4 *>(xs[k]) =
          *reinterpret_cast<const float4 *>(&x[first + (size_t)row * columns]);
  }
#pragma unroll
  for (int k = 0; k < chunks; ++k) {
    const int first = (k * lanes + lane) * width;
    if (first < columns) {
#pragma unroll
      for (int e = 0; e < width; ++e)
        sum += xs[k][e];
    }
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  float mean = sum / columns;
#pragma unroll
  for (int k = 0; k < chunks; ++k) {
    const int first = (k * lanes + lane) * width;
    if (first < columns) {
      alignas(16) float ys[width];
#pragma unroll
      for (int e = 0; e < width; ++e)
        ys[e] = xs[k][e] - mean;
      *reinterpret_cast<float4 *>(&y[first + (size_t)row * columns]) =
          *reinterpret_cast<const float4 *>(ys);
    }
  }
}

// Whether center_rows computes what center does.
static inline bool can_use_center_rows(float *y, const float *x, int rows, int columns) {
  return rows > 0 && columns <= 1024 && columns % 4 == 0 &&
         (x + (long long)rows * columns <= y || y + (long long)rows * columns <= x) &&
         ((size_t)x | (size_t)y) % 16 == 0;
}

void run(float *y, const float *x, int rows, int columns) {
  if (can_use_center_rows(y, x, rows, columns))
    center_rows<<<(rows + 7) / 8, dim3(32, 8)>>>(y, x, rows, columns);
  else
    center<<<(rows + 127) / 128, 128>>>(y, x, rows, columns);
}
