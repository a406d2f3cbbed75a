// Groups of four rows of tiles, walked column by column; the last group may have fewer rows.
constexpr int kGroup = 4;

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
  int columns = gridDim.x, tile = blockIdx.y * columns + blockIdx.x;
  int group = tile / (kGroup * columns), inGroup = tile % (kGroup * columns);
  int rows = min(static_cast<int>(gridDim.y) - group * kGroup, kGroup);
  int tileY = group * kGroup + inGroup % rows, tileX = inGroup / rows;
  int row = tileY * 16 + threadIdx.y, col = tileX * 16 + threadIdx.x;
  if (row < m && col < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
  }
}

void run(const float *a, const float *b, float *c, int m, int n, int k) {
  matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
}
