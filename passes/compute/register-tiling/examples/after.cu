// Four rows of results per thread: five loads from shared memory for four multiply-adds.
constexpr int kTile = 16, kRows = 4;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tileA[kTile * kRows][kTile], tileB[kTile][kTile];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * kTile * kRows + ty, col = blockIdx.x * kTile + tx;
  float sum[kRows] = {};
  for (int first = 0; first < n; first += kTile) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int r = row + i * kTile;
      tileA[ty + i * kTile][tx] = r < n && first + tx < n ? a[r * n + first + tx] : 0.0f;
    }
    tileB[ty][tx] = first + ty < n && col < n ? b[(first + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) {
      float right = tileB[k][tx];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        sum[i] += tileA[ty + i * kTile][k] * right;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    int r = row + i * kTile;
    if (r < n && col < n)
      c[r * n + col] = sum[i];
  }
}

void run(const float *a, const float *b, float *c, int n) {
  int rows = kTile * kRows;
  dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (n + rows - 1) / rows);
  matmul<<<grid, block>>>(a, b, c, n);
}
