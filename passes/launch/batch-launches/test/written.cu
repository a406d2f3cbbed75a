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

// A loop with directives stays for builds with other macros.
// CHECK-LABEL: void directives
// CHECK: #if !defined(SLOW) && (STEP > 1)
// CHECK-NEXT: addOne{{B}}atch5<<<(8 * 256 + 255) / 256, 256>>>(x, 256);
// CHECK-NEXT: #else
// CHECK-NEXT: for (int i = 0; i < 8; ++i) {
// CHECK: #endif
// CHECK-NEXT: }
// CHECK-NEXT: #endif
// CHECK-NEXT: }
#define STEP 2
void directives(float *x) {
  for (int i = 0; i < 8; ++i) {
#ifdef SLOW
    addOne<<<1, 128>>>(x + i * 256, 128);
#elif STEP > 1
    addOne<<<2, 128>>>(x + i * 256, 256);
#endif
  }
}

// Unless a part of it may be missing elsewhere.
// CHECK-LABEL: void elsewhere
// CHECK-NEXT: for (int i = 0; i < 8; ++i) {
void elsewhere(float *x) {
  for (int i = 0; i < 8; ++i) {
#ifdef SLOW
    cudaDeviceSynchronize();
#endif
    addOne<<<2, 128>>>(x + i * 256, 256);
  }
}

// CHECK-LABEL: void count
// CHECK-NEXT: #if (STEP == 2)
// CHECK-NEXT: if (times > 0 && {{.*}}) {
// CHECK-NEXT: addOne{{B}}atch7<<<
// CHECK: } else
// CHECK-NEXT: #endif
// CHECK-NEXT: for (int i = 0; i < times; ++i) {
void count(float *x, int times) {
  for (int i = 0; i < times; ++i) {
#if STEP == 2
    addOne<<<2, 128>>>(x + i * 256, 256);
    if (cudaGetLastError() != cudaSuccess)
      printf("failed\n");
#endif
  }
}
