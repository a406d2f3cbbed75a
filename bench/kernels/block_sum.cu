// Reduction: partial sums of blocks, in shared memory with a growing stride.
//
// kb-workload:
//   entry: blockSum
//   sizes: {n: 2097152}
//   test-sizes: [{n: 1}, {n: 255}, {n: 257}, {n: 1000}]
//   unseen-sizes: [{n: 3001}]
//   parameters:
//     - {name: partial, type: f32, shape: "ceildiv(n, 256)", role: out}
//     - {name: x, type: f32, shape: n, role: in, init: "uniform(-1, 1)"}
//     - {name: n, value: n}

__global__ void blockSumKernel(float *partial, const float *x, int n) {
  __shared__ float values[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  values[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = 1; stride < 256; stride *= 2) {
    int at = 2 * stride * threadIdx.x;
    if (at < 256)
      values[at] += values[at + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    partial[blockIdx.x] = values[0];
}

void blockSum(float *partial, const float *x, int n) {
  blockSumKernel<<<(n + 255) / 256, 256>>>(partial, x, n);
}
