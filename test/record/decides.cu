// Host code that decides by what the device computed: the number of launches is a result. Candidates with another
// host side (a schedule and tune-block-size change it) are recorded with the original's answers and take the same decisions.
// REQUIRES: sandbox
// RUN: rm -rf %t && mkdir %t
// RUN: %status 0,4 kb-opt -v -passes=auto --trajectories=4 --steps=2 --budget-candidates=4 --journal=%t/j.sqlite --knowledge=%t/kb %s -o %t/out.cu 2> %t/err
// RUN: FileCheck %s < %t/err
// CHECK: {{schedule|tune-block-size}}{{.*}} correct, modelled
// CHECK-NOT: mismatch
#include <cstdlib>

__global__ void halve(int *const __restrict__ values, int *const __restrict__ open, const int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    if (values[i] > 1)
      values[i] /= 2;
    if (values[i] > 1)
      atomicOr(open, 1);
  }
}

int main() {
  const int n = 4096, threads = 32;
  static int host[4096];
  for (int i = 0; i < n; ++i)
    host[i] = i % 200;
  int *values = nullptr, *open = nullptr, more = 1, rounds = 0;
  cudaMalloc(&values, sizeof(host));
  cudaMalloc(&open, sizeof(int));
  cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice);
  while (more) {
    cudaMemset(open, 0, sizeof(int));
    const int blocks = (n + threads - 1) / threads;
    halve<<<blocks, threads>>>(values, open, n);
    cudaMemcpy(&more, open, sizeof(int), cudaMemcpyDeviceToHost);
    if (++rounds > 8)
      exit(1);
  }
  cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    if (host[i] > 1)
      exit(2);
  exit(rounds == 7 ? 0 : 3);
}
