// Streams and events: order, queries and elapsed time.
// REQUIRES: sandbox
// RUN: kb-opt --emit=plan %s | FileCheck %s
// CHECK: "ending":"exit"{{.*}}"exitStatus":0
#include <cstdlib>

#define CHECK(condition)                                                                           \
  if (!(condition))                                                                                \
  exit(__LINE__ & 0x7f)

__global__ void append(int *log, int what) {
  int at = atomicAdd(&log[0], 1);
  log[1 + at] = what;
}

static void CUDART_CB note(void *flag) { *static_cast<bool *>(flag) = true; }

int main() {
  int *log = nullptr, host[8] = {};
  cudaMalloc(&log, sizeof(host));
  cudaMemset(log, 0, sizeof(host));
  cudaStream_t first, second;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) == cudaSuccess);
  CHECK(cudaStreamCreateWithPriority(&second, cudaStreamDefault, 0) == cudaSuccess);
  cudaEvent_t begin, end, ready;
  CHECK(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess);
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  cudaEventRecord(begin, first);
  append<<<1, 1, 0, first>>>(log, 7);
  cudaEventRecord(ready, first);
  cudaStreamWaitEvent(second, ready, 0);
  append<<<1, 1, 0, second>>>(log, 8);
  cudaEventRecord(end, second);
  CHECK(cudaEventSynchronize(end) == cudaSuccess && cudaEventQuery(ready) == cudaSuccess);
  CHECK(cudaStreamQuery(second) == cudaSuccess);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess && milliseconds >= 0);
  bool called = false;
  CHECK(cudaLaunchHostFunc(second, note, &called) == cudaSuccess);
  cudaStreamSynchronize(second);
  CHECK(called);
  cudaMemcpy(host, log, sizeof(host), cudaMemcpyDeviceToHost);
  CHECK(host[0] == 2 && host[1] == 7 && host[2] == 8);
  CHECK(cudaEventDestroy(begin) == cudaSuccess && cudaEventDestroy(end) == cudaSuccess);
  CHECK(cudaStreamDestroy(first) == cudaSuccess && cudaStreamDestroy(second) == cudaSuccess);
  cudaFree(log);
}
