// Each tile goes through registers, and everybody waits for it.
constexpr int kTile = 16;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tileA[kTile][kTile], tileB[kTile][kTile];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int first = 0; first < n; first += kTile) {
    tileA[ty][tx] = row < n && first + tx < n ? a[row * n + first + tx] : 0.0f;
    tileB[ty][tx] = first + ty < n && col < n ? b[(first + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k)
      sum += tileA[ty][k] * tileB[k][tx];
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

void run(const float *a, const float *b, float *c, int n) {
  dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  matmul<<<grid, block>>>(a, b, c, n);
}
