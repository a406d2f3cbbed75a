#include <cuda_runtime.h>

__global__ void add(float *a, float *b, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] = a[i] + b[i];
}

int main() {
  const int n = 1 << 20;
  float *a, *b, *sum;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMalloc(&sum, n * sizeof(float));
  add<<<(n + 255) / 256, 256>>>(a, b, sum, n);
  return cudaDeviceSynchronize();
}
