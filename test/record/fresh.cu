// Memory of the heap that the program never wrote is zero, whatever lay there before.
// RUN: kb-opt --emit=plan %s -o %t 2>&1 | FileCheck %s
// CHECK: program: small 0, large 0, read back 0
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void keep(unsigned char *) {}

static unsigned char *dirtied(size_t bytes) {
  void *before = malloc(bytes);
  memset(before, 7, bytes);
  free(before);
  return static_cast<unsigned char *>(malloc(bytes));
}

int main() {
  unsigned char *small = dirtied(100), *large = dirtied(1 << 20), *device, read;
  cudaMalloc(&device, 100);
  cudaMemcpy(device, small, 100, cudaMemcpyHostToDevice);
  keep<<<1, 1>>>(device);
  cudaMemcpy(&read, device + 50, 1, cudaMemcpyDeviceToHost);
  printf("small %d, large %d, read back %d\n", small[50], large[5000], read);
}
