// A launch in a macro is written out where another kernel may run; what the macro does beside it stays.
// RUN: kb-opt "-passes=schedule{as='map vector=4'}" --quiet -o %t.cu %s
// RUN: sed 's|^ *//.*||' %t.cu | FileCheck %s
// RUN: kb-opt "-passes=schedule{as='map vector=4'}" --quiet -o %t.again.cu %t.cu && diff %t.cu %t.again.cu
#include <cstdio>

#define CHECK_LAST()                                                                                                                     \
  if (cudaGetLastError() != cudaSuccess)                                                                                               \
  printf("failed\n")
#define LAUNCH(kernel, blocks, ...)                                                                                                      \
  do {                                                                                                                                   \
    kernel<<<(blocks), 256>>>(__VA_ARGS__);                                                                                             \
    CHECK_LAST();                                                                                                                        \
  } while (0)
#define CHECKED(...) __VA_ARGS__; CHECK_LAST()
#define PLAIN(kernel, ...) kernel<<<(n + 255) / 256, 256>>>(__VA_ARGS__)

__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

// CHECK-LABEL: void checks
// CHECK: do {
// CHECK-NEXT: if (
// CHECK: scale_{{w}}ide<<<{{.*}}>>>(y, x, 2.0f, n);
// CHECK-NEXT: else
// CHECK-NEXT: scale<<<((n + 255) / 256), 256>>>(y, x, 2.0f, n);
// CHECK-NEXT: CHECK_LAST();
// CHECK-NEXT: } while (0);
void checks(float *y, const float *x, int n) {
  LAUNCH(scale, (n + 255) / 256, y, x, 2.0f, n);
}

// CHECK-LABEL: void argument
// CHECK: scale_{{w}}ide<<<
// CHECK-NEXT: else
// CHECK-NEXT: scale<<<(n + 255) / 256, 256>>>(y, x + n, 3.0f, n);
// CHECK-NEXT: CHECK_LAST();
void argument(float *y, const float *x, int n) {
  CHECKED(scale<<<(n + 255) / 256, 256>>>(y, x + n, 3.0f, n));
}

// CHECK-LABEL: void plain
// CHECK: scale_{{w}}ide<<<
// CHECK: else
// CHECK-NEXT: PLAIN(scale, y, x, 4.0f, n);
// CHECK-NEXT: }
void plain(float *y, const float *x, int n) {
  if (n > 0)
    PLAIN(scale, y, x, 4.0f, n);
}
