// Variables of the device, by copy and by address.
// REQUIRES: sandbox
// RUN: kb-opt --emit=plan %s | FileCheck %s
// CHECK: "ending":"exit"{{.*}}"exitStatus":0
// CHECK-DAG: "symbol":"weights"
// CHECK-DAG: "symbol":"counts"
#include <cstdlib>

#define CHECK(condition)                                                                           \
  if (!(condition))                                                                                \
  exit(__LINE__ & 0x7f)

__constant__ float weights[4];
__device__ int counts[4] = {1, 2, 3, 4};

__global__ void weigh(float *out) {
  out[threadIdx.x] = weights[threadIdx.x] * counts[threadIdx.x];
  counts[threadIdx.x] += 10;
}

int main() {
  float host[4] = {1, 2, 3, 4}, result[4];
  float *out = nullptr;
  cudaMalloc(&out, sizeof(result));
  CHECK(cudaMemcpyToSymbol(weights, host, sizeof(host)) == cudaSuccess);
  CHECK(cudaMemcpyToSymbol(weights, host, sizeof(float), 3 * sizeof(float)) == cudaSuccess);
  weigh<<<1, 4>>>(out);
  cudaMemcpy(result, out, sizeof(result), cudaMemcpyDeviceToHost);
  CHECK(result[0] == 1 && result[2] == 9 && result[3] == 4);
  int after[4];
  CHECK(cudaMemcpyFromSymbol(after, counts, sizeof(after)) == cudaSuccess);
  CHECK(after[0] == 11 && after[3] == 14);
  void *address = nullptr;
  size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, counts) == cudaSuccess);
  CHECK(cudaGetSymbolSize(&bytes, counts) == cudaSuccess && bytes == sizeof(after));
  cudaMemset(address, 0, bytes);
  cudaMemcpyFromSymbol(after, counts, sizeof(int), 0);
  CHECK(after[0] == 0 && after[3] == 14);
  cudaFree(out);
}
