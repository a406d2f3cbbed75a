// Two products of a matrix and a vector, added with factors, as PolyBench's gesummv has them: a thread per row.
//
// kb-workload:
//   entry: gesummv
//   sizes: {n: 4096}
//   test-sizes: [{n: 1}, {n: 33}, {n: 64}]
//   unseen-sizes: [{n: 97}]
//   parameters:
//     - {name: y, type: f32, shape: n, role: out}
//     - {name: a, type: f32, shape: n*n, role: in, init: normal}
//     - {name: b, type: f32, shape: n*n, role: in, init: normal}
//     - {name: x, type: f32, shape: n, role: in, init: normal}
//     - {name: alpha, value: 3}
//     - {name: beta, value: 2}
//     - {name: n, value: n}

__global__ void gesummvKernel(float *y, const float *a, const float *b, const float *x, float alpha, float beta,
                              int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float ax = 0.0f, bx = 0.0f;
  for (int j = 0; j < n; ++j) {
    ax += a[i * n + j] * x[j];
    bx += b[i * n + j] * x[j];
  }
  y[i] = alpha * ax + beta * bx;
}

void gesummv(float *y, const float *a, const float *b, const float *x, float alpha, float beta, int n) {
  gesummvKernel<<<(n + 255) / 256, 256>>>(y, a, b, x, alpha, beta, n);
}
