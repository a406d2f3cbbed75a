// A program may write into a folder below its working directory: each run has a copy of it, and what is written is compared.
// REQUIRES: nvcc, sandbox
// RUN: rm -rf %t && mkdir -p %t/results && cp %s %t/k.cu && cd %t && echo before > results/log
// RUN: sed 's/2.0f \* x\[i\]/x[i] + x[i]/' k.cu > right.cu && sed 's/"w"), "%%.1f/"w"), "%%.2f/' k.cu > wrong.cu && not diff k.cu wrong.cu > diff
// RUN: kb-opt verify k.cu right.cu | FileCheck --check-prefix=RIGHT %s
// RIGHT: {{^}}correct{{$}}
// RUN: %status 1 kb-opt verify k.cu wrong.cu | FileCheck --check-prefix=WRONG %s
// WRONG: results/sum
// RUN: grep before results/log && not ls results/sum
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(float *x) {
  int i = threadIdx.x;
  x[i] = 2.0f * x[i];
}

int main() {
  float x[64], *d, sum = 0;
  for (int i = 0; i < 64; ++i)
    x[i] = static_cast<float>(i % 9);
  cudaMalloc(&d, sizeof x);
  cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice);
  twice<<<1, 64>>>(d);
  cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost);
  for (float each : x)
    sum += each;
  std::fprintf(std::fopen("results/sum", "w"), "%.1f\n", static_cast<double>(sum));
  return 0;
}
