// Launches as people write them: in a macro that checks, and on several streams.
// RUN: kb-opt -passes=batch-launches --quiet -o %t.cu %s
// RUN: sed 's|^ *//.*||' %t.cu | FileCheck %s
#include <cstdio>
#include <vector>

#define LAUNCH(kernel, ...)                                                                                                              \
  do {                                                                                                                                   \
    kernel<<<2, 128>>>(__VA_ARGS__);                                                                                                     \
    if (cudaGetLastError() != cudaSuccess)                                                                                             \
      return 1;                                                                                                                          \
  } while (0)

__global__ void addOne(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += 1.0f;
}

// CHECK-LABEL: int macro
// CHECK: addOne{{B}}atch<<<(8 * 256 + 255) / 256, 256>>>(x, 256);
// CHECK-NEXT: if (cudaGetLastError() != cudaSuccess)
// CHECK-NEXT: return 1;
// CHECK-NEXT: }
// CHECK-NEXT: return 0;
int macro(float *x) {
  for (int i = 0; i < 8; ++i)
    LAUNCH(addOne, x + i * 256, 256);
  return 0;
}

// The default stream waits for the others, and they for it.
// CHECK-LABEL: void streams
// CHECK: addOne{{B}}atch2<<<(8 * 256 + 255) / 256, 256>>>(x, 256);
void streams(float *x) {
  cudaStream_t all[4];
  for (int i = 0; i < 4; ++i)
    cudaStreamCreate(&all[i]);
  for (int i = 0; i < 8; ++i)
    addOne<<<2, 128, 0, all[i % 4]>>>(x + i * 256, 256);
  for (cudaStream_t each : all)
    cudaStreamDestroy(each);
}

// CHECK-LABEL: void inVector
// CHECK: addOne{{B}}atch3<<<(8 * 256 + 255) / 256, 256>>>(x, 256);
void inVector(float *x, int count) {
  std::vector<cudaStream_t> all(count);
  for (auto &each : all)
    cudaStreamCreate(&each);
  for (int i = 0; i < 8; ++i)
    addOne<<<2, 128, 0, all[i % all.size()]>>>(x + i * 256, 256);
  for (int i = 0; i < count; ++i)
    cudaStreamSynchronize(all[i]);
}

// CHECK-LABEL: void from
// CHECK: addOne<<<2, 128, 0, all[i % 2]>>>
cudaStream_t next();
void from(float *x) {
  cudaStream_t all[2] = {next(), next()};
  for (int i = 0; i < 8; ++i)
    addOne<<<2, 128, 0, all[i % 2]>>>(x + i * 256, 256);
}
