#include <cuda_runtime.h>
#include <cstdio>

// NOKBOPTBEGIN
__global__ void twice(unsigned *__restrict__ x) {
  unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  x[at] = 2 * x[at];
}

int main() {
  unsigned host[64];
  for (unsigned i = 0; i < 64; ++i)
    host[i] = i * 7;
  unsigned *x;
  cudaMalloc(&x, sizeof host);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  twice<<<1, dim3(8, 8)>>>(x);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%u\n", host[63]);
  cudaFree(x);
  return 0;
}
// NOKBOPTEND
