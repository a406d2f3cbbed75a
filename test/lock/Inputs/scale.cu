// kb-workload:
//   entry: scale
//   sizes: {n: 4096}
//   test-sizes: [{n: 1}, {n: 33}]
//   parameters:
//     - {name: out, type: f32, shape: n, role: out}
//     - {name: in, type: f32, shape: n, role: in, init: "uniform(0, 1)"}
//     - {name: n, value: n}
#include "factor.h"

__global__ void scaleKernel(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = timesFactor(in[i]);
}

__global__ void otherKernel(float *out) { out[threadIdx.x] = 1; }

void scale(float *out, const float *in, int n) { scaleKernel<<<(n + 63) / 64, 64>>>(out, in, n); }

void other(float *out) { otherKernel<<<1, 64>>>(out); }
