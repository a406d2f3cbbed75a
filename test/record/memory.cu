// Allocation, copies and fills, with their asynchronous and two-dimensional forms.
// REQUIRES: sandbox
// RUN: kb-opt --emit=plan %s | FileCheck %s
// CHECK: "ending":"exit"{{.*}}"exitStatus":0
// CHECK-DAG: "kind":"device"
// CHECK-DAG: "step":"launch"
// CHECK-DAG: "step":"read"
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(condition)                                                                           \
  if (!(condition))                                                                                \
  exit(__LINE__ & 0x7f)

__global__ void twice(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] *= 2;
}

int main() {
  constexpr int n = 100;
  std::vector<int> host(n), back(n);
  for (int i = 0; i < n; ++i)
    host[i] = i;
  int *a = nullptr, *b = nullptr;
  CHECK(cudaMalloc(&a, n * sizeof(int)) == cudaSuccess && cudaMalloc(&b, n * sizeof(int)) == cudaSuccess);
  // A fresh process finds its memory cleared.
  cudaMemcpy(back.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost);
  CHECK(back[0] == 0 && back[n - 1] == 0);
  CHECK(cudaMemcpy(a, host.data(), n * sizeof(int), cudaMemcpyHostToDevice) == cudaSuccess);
  twice<<<4, 32>>>(a, n);
  cudaMemcpy(b, a, n * sizeof(int), cudaMemcpyDeviceToDevice);
  cudaMemset(a, 0xff, n * sizeof(int));
  cudaMemcpy(back.data(), b, n * sizeof(int), cudaMemcpyDefault);
  for (int i = 0; i < n; ++i)
    CHECK(back[i] == 2 * i);
  cudaMemcpy(back.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost);
  CHECK(back[0] == -1 && back[n - 1] == -1);

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  int *c = nullptr;
  CHECK(cudaMallocAsync(reinterpret_cast<void **>(&c), n * sizeof(int), stream) == cudaSuccess);
  cudaMemcpyAsync(c, host.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream);
  twice<<<4, 32, 0, stream>>>(c, n);
  cudaMemsetAsync(c, 0, sizeof(int), stream);
  cudaMemcpyAsync(back.data(), c, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(back[0] == 0 && back[99] == 198);
  cudaFreeAsync(c, stream);
  cudaStreamDestroy(stream);

  // Ten rows of ten, each padded to the pitch.
  void *rows = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&rows, &pitch, 40, 10) == cudaSuccess && pitch >= 40);
  cudaMemset2D(rows, pitch, 0, 40, 10);
  cudaMemcpy2D(rows, pitch, host.data(), 40, 40, 5, cudaMemcpyHostToDevice);
  cudaMemcpy2D(back.data(), 40, rows, pitch, 40, 10, cudaMemcpyDeviceToHost);
  CHECK(back[49] == 49 && back[50] == 0);
  CHECK(cudaFree(a) == cudaSuccess && cudaFree(b) == cudaSuccess && cudaFree(rows) == cudaSuccess);
  CHECK(cudaFree(nullptr) == cudaSuccess);
}
