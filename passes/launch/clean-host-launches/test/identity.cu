// Waits that the host needs, and buffers that differ in size, stay.
// RUN: kb-opt -passes=clean-host-launches --quiet -o %t %s
// RUN: diff %s %t
#include <cstdio>
__global__ void fill(float *x, int n) {
  if (threadIdx.x < n)
    x[threadIdx.x] = n;
}

void once(float *x, int n) {
  fill<<<1, 256>>>(x, n);
  cudaDeviceSynchronize();
}

int main() {
  float *managed;
  cudaMallocManaged(&managed, 1024);
  for (int step = 0; step < 3; ++step) {
    fill<<<1, 256>>>(managed, step);
    cudaDeviceSynchronize();
    printf("%f\n", managed[0]);
  }
  for (int step = 1; step < 3; ++step) {
    float *growing;
    cudaMalloc(&growing, step * sizeof(float));
    fill<<<1, 256>>>(growing, step);
    cudaFree(growing);
  }
}
