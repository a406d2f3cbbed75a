// Matrix product without tiles; threadIdx.x walks down the rows.
//
// kb-workload:
//   entry: matmul
//   sizes: {m: 512, n: 512, k: 512}
//   test-sizes: [{m: 1, n: 1, k: 1}, {m: 33, n: 17, k: 31}, {m: 16, n: 64, k: 7}]
//   unseen-sizes: [{m: 47, n: 13, k: 29}]
//   parameters:
//     - {name: c, type: f32, shape: m*n, role: out}
//     - {name: a, type: f32, shape: m*k, role: in, init: normal}
//     - {name: b, type: f32, shape: k*n, role: in, init: normal}
//     - {name: m, value: m}
//     - {name: n, value: n}
//     - {name: k, value: k}

__global__ void matmulKernel(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}

void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 block(16, 16), grid((m + 15) / 16, (n + 15) / 16);
  matmulKernel<<<grid, block>>>(c, a, b, m, n, k);
}
