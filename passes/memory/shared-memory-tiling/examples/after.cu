// A block loads one tile of a and one of b at a time; each element is loaded once per block.
constexpr int kTile = 16;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tileA[kTile][kTile];
  __shared__ float tileB[kTile][kTile];
  int row = blockIdx.y * kTile + threadIdx.y;
  int col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < n; first += kTile) {
    int ka = first + threadIdx.x, kb = first + threadIdx.y;
    tileA[threadIdx.y][threadIdx.x] = row < n && ka < n ? a[row * n + ka] : 0.0f;
    tileB[threadIdx.y][threadIdx.x] = kb < n && col < n ? b[kb * n + col] : 0.0f;
    __syncthreads();
    int count = min(kTile, n - first);
    for (int k = 0; k < count; ++k)
      sum += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

void run(const float *a, const float *b, float *c, int n) {
  dim3 block(kTile, kTile);
  dim3 grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  matmul<<<grid, block>>>(a, b, c, n);
}
