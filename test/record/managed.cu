// Memory that both sides see: managed, pinned, mapped and registered.
// REQUIRES: sandbox
// RUN: kb-opt --emit=plan %s | FileCheck %s
// CHECK: "ending":"exit"{{.*}}"exitStatus":0
// CHECK: "kind":"managed"
#include <cstdlib>

#define CHECK(condition)                                                                           \
  if (!(condition))                                                                                \
  exit(__LINE__ & 0x7f)

__global__ void sum(int *total, const int *p, int n) {
  for (int i = 0; i < n; ++i)
    *total += p[i];
}

__global__ void increment(int *p) { p[threadIdx.x] += 1; }

int main() {
  constexpr int n = 64;
  int *managed = nullptr;
  CHECK(cudaMallocManaged(&managed, n * sizeof(int)) == cudaSuccess);
  for (int i = 0; i < n; ++i)
    managed[i] = i;
  increment<<<1, n>>>(managed);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(managed[0] == 1 && managed[63] == 64);
  managed[0] = 1000; // by the host, between two launches
  int *total = nullptr;
  CHECK(cudaMallocManaged(&total, sizeof(int)) == cudaSuccess);
  *total = 5;
  sum<<<1, 1>>>(total, managed, n);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(*total == 5 + 64 * 65 / 2 - 1 + 1000 && cudaFree(total) == cudaSuccess);

  int *pinned = nullptr, *mapped = nullptr, *view = nullptr;
  CHECK(cudaMallocHost(&pinned, n * sizeof(int)) == cudaSuccess);
  CHECK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped) == cudaSuccess);
  CHECK(cudaHostGetDevicePointer(&view, mapped, 0) == cudaSuccess);
  for (int i = 0; i < n; ++i)
    pinned[i] = mapped[i] = 10 * i;
  increment<<<1, n>>>(view);
  cudaMemcpy(managed, pinned, n * sizeof(int), cudaMemcpyHostToDevice);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(mapped[5] == 51 && managed[5] == 50);
  CHECK(cudaFreeHost(pinned) == cudaSuccess && cudaFreeHost(mapped) == cudaSuccess);
  CHECK(cudaFree(managed) == cudaSuccess);
}
