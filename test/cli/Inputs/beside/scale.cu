// kb-workload:
//   entry: scale
//   sizes: {n: 64}
//   parameters:
//     - {name: out, type: f32, shape: n, role: out}
//     - {name: in, type: f32, shape: n, role: in, init: ones}
//     - {name: n, value: n}
#include "factor.h"

__global__ void scaleKernel(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = factor * in[i];
}

void scale(float *out, const float *in, int n) { scaleKernel<<<(n + 31) / 32, 32>>>(out, in, n); }
