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

__global__ void transposedDenseKernel(float *c, const float *a, const float *b, const float *bias, int m, int n, int k) {
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || j >= n)
    return;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p)
    sum += a[p * m + i] * b[p * n + j];
  c[i * n + j] = fmaxf(sum + bias[j], 0.0f);
}

void transposedDense(float *c, const float *a, const float *b, const float *bias, int m, int n, int k) {
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  transposedDenseKernel<<<grid, block>>>(c, a, b, bias, m, n, k);
}
