// Adds weights to the bins that indices name.
//
// kb-workload:
//   entry: run
//   sizes: {n: 3000}
//   test-sizes: [{n: 1}, {n: 511}]
//   parameters:
//     - {name: sums, type: f32, shape: 40, role: inout, init: zeros}
//     - {name: x, type: i32, shape: n, role: in, init: "range(0, 40)"}
//     - {name: w, type: f32, shape: n, role: in, init: normal}
//     - {name: n, value: n}

__global__ void addWeights(float *sums, const int *x, const float *w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  atomicAdd(&sums[x[i]], w[i]);
}

void run(float *sums, const int *x, const float *w, int n) {
  addWeights<<<(n + 127) / 128, 128>>>(sums, x, w, n);
}
