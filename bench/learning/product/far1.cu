// Low-rank adapters: each token adds the product with the adapter that its request uses. Inputs are half precision, each
// adapter is stored one output after the other, and sums are floats.
//
// kb-workload:
//   entry: addAdapters
//   sizes: {tokens: 2048, in: 256, out: 128, adapters: 32}
//   test-sizes: [{tokens: 1, in: 1, out: 1, adapters: 1}, {tokens: 33, in: 18, out: 20, adapters: 3}, {tokens: 40, in: 64, out: 65, adapters: 7}]
//   unseen-sizes: [{tokens: 21, in: 30, out: 17, adapters: 5}]
//   parameters:
//     - {name: result, type: f32, shape: tokens*out, role: inout, init: normal}
//     - {name: states, type: f16, shape: tokens*in, role: in, init: normal}
//     - {name: adapters, type: f16, shape: adapters*out*in, role: in, init: normal}
//     - {name: uses, type: i32, shape: tokens, role: in, init: "range(0, adapters)", range: [0, adapters - 1]}
//     - {name: tokens, value: tokens}
//     - {name: in, value: in}
//     - {name: out, value: out}
#include <cuda_fp16.h>

__global__ void adapterKernel(float *result, const __half *states, const __half *adapters, const int *uses, int tokens,
                              int in, int out) {
  int o = blockIdx.x * blockDim.x + threadIdx.x;
  int token = blockIdx.y;
  if (o < out && token < tokens) {
    const __half *row = adapters + (uses[token] * out + o) * in;
    float sum = 0;
    for (int i = 0; i < in; ++i)
      sum += __half2float(states[token * in + i]) * __half2float(row[i]);
    result[token * out + o] += sum;
  }
}

void addAdapters(float *result, const __half *states, const __half *adapters, const int *uses, int tokens, int in,
                 int out) {
  adapterKernel<<<dim3((out + 127) / 128, tokens), 128>>>(result, states, adapters, uses, tokens, in, out);
}
