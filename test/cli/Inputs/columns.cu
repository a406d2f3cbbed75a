// Neighbouring lanes read down a column, in more blocks than the chip holds at once.
//
// kb-workload:
//   entry: columns
//   sizes: {n: 614400}
//   test-sizes: [{n: 1024}, {n: 4096}]
//   parameters:
//     - {name: y, type: f32, shape: n, role: out}
//     - {name: x, type: f32, shape: n, role: in, init: normal}
//     - {name: n, value: n}

__global__ void columnsKernel(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[(i % 1024) * (n / 1024) + i / 1024];
}

void columns(float *y, const float *x, int n) {
  columnsKernel<<<(n + 1023) / 1024, 1024>>>(y, x, n);
}
