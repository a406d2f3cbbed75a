// C = relu(A^T B + bias): A has k rows of m, B has k rows of n. One thread for each element of C.
//
// kb-workload:
//   entry: transposedDense
//   sizes: {m: 512, n: 512, k: 512}
//   test-sizes: [{m: 1, n: 1, k: 1}, {m: 17, n: 33, k: 9}, {m: 70, n: 65, k: 40}]
//   unseen-sizes: [{m: 35, n: 21, k: 18}]
//   parameters:
//     - {name: c, type: f32, shape: m*n, role: out}
//     - {name: a, type: f32, shape: k*m, role: in, init: normal}
//     - {name: b, type: f32, shape: k*n, role: in, init: normal}
//     - {name: bias, type: f32, shape: n, role: in, init: normal}
//     - {name: m, value: m}
//     - {name: n, value: n}
//     - {name: k, value: k}

constexpr int kTile = 64;
constexpr int kDepth = 16;

// A block computes 64 x 64 elements, a thread 4 x 4 of them that lie 16 apart.
__global__ void __launch_bounds__(256)
    transposedDenseKernel(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b,
                          const float *__restrict__ bias, int m, int n, int k) {
  __shared__ float as[kDepth][kTile], bs[kDepth][kTile];
  int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float sum[4][4] = {};
  for (int start = 0; start < k; start += kDepth) {
    for (int e = threadIdx.x; e < kDepth * kTile; e += 256) {
      int p = e / kTile, u = e % kTile;
      as[p][u] = start + p < k && row + u < m ? a[(start + p) * m + row + u] : 0.0f;
      bs[p][u] = start + p < k && column + u < n ? b[(start + p) * n + column + u] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDepth; ++p)
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s)
          sum[r][s] += as[p][ty + 16 * r] * bs[p][tx + 16 * s];
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      int i = row + ty + 16 * r, j = column + tx + 16 * s;
      if (i < m && j < n)
        c[i * n + j] = fmaxf(sum[r][s] + bias[j], 0.0f);
    }
}

void transposedDense(float *c, const float *a, const float *b, const float *bias, int m, int n, int k) {
  transposedDenseKernel<<<dim3((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), 256>>>(c, a, b, bias, m, n, k);
}
