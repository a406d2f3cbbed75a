// The next tile is on its way while this one is in use; one barrier per tile.
constexpr int kTile = 16;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tileA[2][kTile][kTile], tileB[2][kTile][kTile];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  tileA[0][ty][tx] = row < n && tx < n ? a[row * n + tx] : 0.0f;
  tileB[0][ty][tx] = ty < n && col < n ? b[ty * n + col] : 0.0f;
  __syncthreads();
  int buffer = 0;
  for (int first = 0; first < n; first += kTile, buffer ^= 1) {
    int next = first + kTile;
    float nextA = row < n && next + tx < n ? a[row * n + next + tx] : 0.0f;
    float nextB = next + ty < n && col < n ? b[(next + ty) * n + col] : 0.0f;
    for (int k = 0; k < kTile; ++k)
      sum += tileA[buffer][ty][k] * tileB[buffer][k][tx];
    tileA[buffer ^ 1][ty][tx] = nextA;
    tileB[buffer ^ 1][ty][tx] = nextB;
    __syncthreads();
  }
  if (row < n && col < n)
    c[row * n + col] = sum;
}

void run(const float *a, const float *b, float *c, int n) {
  dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  matmul<<<grid, block>>>(a, b, c, n);
}
