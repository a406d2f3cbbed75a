// Scatter: how often each byte value occurs, with atomics on global memory.
//
// kb-workload:
//   entry: histogram
//   sizes: {n: 1048576}
//   test-sizes: [{n: 1}, {n: 255}, {n: 1000}]
//   unseen-sizes: [{n: 4099}]
//   parameters:
//     - {name: counts, type: u32, shape: 256, role: inout, init: zeros}
//     - {name: values, type: i32, shape: n, role: in, init: "range(0, 256)"}
//     - {name: n, value: n}

__global__ void histogramKernel(unsigned *counts, const int *values, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[values[i]], 1u);
}

void histogram(unsigned *counts, const int *values, int n) {
  histogramKernel<<<528, 128>>>(counts, values, n);
}
