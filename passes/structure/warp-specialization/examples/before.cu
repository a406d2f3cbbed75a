// All warps load, all wait, all compute, all wait.
constexpr int kColumns = 64, kRows = 8;

__global__ void correlate(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[kRows][kColumns];
  int t = threadIdx.x, column = blockIdx.x * kColumns + t;
  float sum = 0.0f;
  for (int first = 0; first < rows; first += kRows) {
    for (int r = 0; r < kRows; ++r)
      tile[r][t] = first + r < rows && column < columns ? x[(first + r) * columns + column] : 0.0f;
    __syncthreads();
    for (int r = 0; r < kRows; ++r)
      sum += tile[r][t] * tile[r][(t + 1) % kColumns];
    __syncthreads();
  }
  if (column < columns)
    y[column] = sum;
}

void run(const float *x, float *y, int rows, int columns) {
  correlate<<<(columns + kColumns - 1) / kColumns, kColumns>>>(x, y, rows, columns);
}
