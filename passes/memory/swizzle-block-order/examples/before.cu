// Blocks that run together cover one row of tiles: one operand is shared, the other is read whole.
__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
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
