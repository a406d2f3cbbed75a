// Both ways to launch, what the device says of itself, and errors as CUDA gives them.
// REQUIRES: sandbox
// RUN: kb-opt --emit=plan %s | FileCheck %s
// CHECK: "ending":"exit"{{.*}}"exitStatus":0
// CHECK-COUNT-2: "step":"launch"
#include <cstdlib>
#include <cstring>

#define CHECK(condition)                                                                           \
  if (!(condition))                                                                                \
  exit(__LINE__ & 0x7f)

struct Pair {
  int a, b;
};

template <typename T> __global__ void add(T *out, Pair pair, T more) {
  extern __shared__ int stage[];
  stage[threadIdx.x] = pair.a + pair.b;
  __syncthreads();
  out[threadIdx.x] = stage[blockDim.x - 1 - threadIdx.x] + more;
}

int main() {
  int devices = 0, device = -1, warp = 0;
  CHECK(cudaGetDeviceCount(&devices) == cudaSuccess && devices == 1);
  CHECK(cudaSetDevice(0) == cudaSuccess && cudaGetDevice(&device) == cudaSuccess && device == 0);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  CHECK(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024 &&
        properties.multiProcessorCount > 0 && strlen(properties.name) > 0);
  CHECK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0) == cudaSuccess && warp == 32);
  size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess && free > 0 && free <= total);

  float *out = nullptr, host[32];
  cudaMalloc(&out, sizeof(host));
  add<float><<<1, 32, 32 * sizeof(int)>>>(out, Pair{1, 2}, 0.5f);
  CHECK(cudaGetLastError() == cudaSuccess);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  CHECK(host[0] == 3.5f && host[31] == 3.5f);
  Pair pair{10, 20};
  float more = 0.25f;
  void *arguments[] = {&out, &pair, &more};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void *>(add<float>), dim3(1), dim3(32), arguments,
                         32 * sizeof(int), nullptr) == cudaSuccess);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  CHECK(host[7] == 30.25f);
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add<float>, 32, 128) == cudaSuccess &&
        blocks > 0);

  // An error stays until it is asked for, and no longer.
  add<float><<<1, 2048>>>(out, pair, more);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
  CHECK(strlen(cudaGetErrorString(cudaErrorInvalidConfiguration)) > 0);
  CHECK(cudaMemcpy(nullptr, out, 4, cudaMemcpyDeviceToHost) != cudaSuccess);
  CHECK(cudaFree(out) == cudaSuccess && cudaDeviceReset() == cudaSuccess);
}
