// Matrix product with shared tiles; the tile of a is read by columns.
//
// kb-workload:
//   entry: matmulTiled
//   sizes: {m: 512, n: 512, k: 512}
//   test-sizes: [{m: 1, n: 1, k: 1}, {m: 33, n: 17, k: 31}, {m: 32, n: 64, k: 40}]
//   unseen-sizes: [{m: 47, n: 13, k: 29}]
//   parameters:
//     - {name: c, type: f32, shape: m*n, role: out}
//     - {name: a, type: f32, shape: m*k, role: in, init: normal}
//     - {name: b, type: f32, shape: k*n, role: in, init: normal}
//     - {name: m, value: m}
//     - {name: n, value: n}
//     - {name: k, value: k}

__global__ void matmulTiledKernel(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float at[32][32];
  __shared__ float bt[32][32];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 32 + ty, column = blockIdx.x * 32 + tx;
  float sum = 0.0f;
  for (int base = 0; base < k; base += 32) {
    at[tx][ty] = row < m && base + tx < k ? a[row * k + base + tx] : 0.0f;
    bt[ty][tx] = base + ty < k && column < n ? b[(base + ty) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 32; ++i)
      sum += at[i][ty] * bt[i][tx];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

void matmulTiled(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 block(32, 32), grid((n + 31) / 32, (m + 31) / 32);
  matmulTiledKernel<<<grid, block>>>(c, a, b, m, n, k);
}
