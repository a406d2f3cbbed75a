// Counts into bins that the second launch reads its weights from the same allocation as.
//
// kb-workload:
//   entry: run
//   sizes: {n: 3000}
//   test-sizes: [{n: 1}, {n: 511}]
//   parameters:
//     - {name: bins, type: i32, shape: 81, role: inout, init: "range(0, 9)"}
//     - {name: x, type: i32, shape: n, role: in, init: "range(0, 64)"}
//     - {name: weights, type: i32, shape: 16, role: in, init: "range(0, 7)"}
//     - {name: n, value: n}

__global__ void count(int *bins, const int *x, const int *weights, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[x[i]], weights[i % 16]);
}

void run(int *bins, const int *x, const int *weights, int n) {
  count<<<4, 128>>>(bins, x, weights, n);
  count<<<1, 32>>>(bins + 1, x, bins + 65, n);
}
