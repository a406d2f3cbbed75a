// Product of two row-major f32 matrices as one would first write it; threadIdx.x walks down the rows. bench/corpus.json has its sizes.

__global__ void sgemmKernel(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}

void sgemm(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 block(32, 32), grid((m + 31) / 32, (n + 31) / 32);
  sgemmKernel<<<grid, block>>>(c, a, b, m, n, k);
}
