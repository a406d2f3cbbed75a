// Three maps in a row: the value goes along in a register. Sizes that do not match and arrays that overlap take the
// launches as they were.
// RUN: kb-opt -passes=fuse-kernels-vertical --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: correct
#include <cstdio>
#include <cstdlib>

__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

__global__ void shift(const float *x, float *y, float a, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    y[i] = x[i] + a;
}

// In place, one row of threads for each row.
// REMARK: joined 3 launches in ''scale{{S}}hiftRelu'', without storing ''scaled'', where its conditions hold
// REMARK: joined 2 launches in ''scale{{S}}hift2'', where its conditions hold
// CHECK: __global__ void relu(
// CHECK: __global__ void scale{{S}}hiftRelu(const float *__restrict__ x, float a, float *__restrict__ y{{[0-9]?}},
// CHECK: float [[SCALED:.*]] = a * x[column + (size_t)row * columns];
// CHECK-NEXT: float [[SHIFTED:.*]] = [[SCALED]] + a2;
// CHECK-NEXT: [column + (size_t)row * columns] = [[SHIFTED]] > 0.0f ? [[SHIFTED]] : 0.0f;
// CHECK-NEXT: }
__global__ void relu(float *x, int rows, int columns) {
  int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && column < columns)
    x[row * columns + column] = x[row * columns + column] > 0.0f ? x[row * columns + column] : 0.0f;
}

// The scaled values are nobody else's; sizes are equal.
// CHECK-LABEL: void chain(
// CHECK: cudaMalloc
// CHECK-NEXT: if (rows > 0 && columns > 0 && (size_t)rows * columns <= 0x7fff0000) {
// CHECK-NEXT: scale{{S}}hiftRelu<<<
// CHECK: } else {
// CHECK-NEXT: scale<<<
// CHECK-NEXT: shift<<<
// CHECK-NEXT: relu<<<
void chain(float *y, const float *x, int rows, int columns) {
  int n = rows * columns;
  float *scaled;
  cudaMalloc(&scaled, n * sizeof(float));
  scale<<<(n + 255) / 256, 256>>>(scaled, x, 2.0f, n);
  shift<<<(n + 127) / 128, 128>>>(scaled, y, -3.0f, n);
  relu<<<dim3((columns + 31) / 32, rows), 32>>>(y, rows, columns);
  cudaFree(scaled);
}

// Nothing is known of the sizes, and the intermediate array is the caller's.
// CHECK-LABEL: void both(
// CHECK-NEXT: if (n == count && {{.*}}n > 0
// CHECK: scale{{S}}hift2<<<
void both(float *y, float *t, const float *x, int n, int count) {
  scale<<<(n + 255) / 256, 256>>>(t, x, 2.0f, n);
  shift<<<(count + 127) / 128, 128>>>(t, y, -3.0f, count);
}

// What changes between the launches is kept for the first one; memory for the second one may be allocated there.
// CHECK-LABEL: void changing(
// CHECK: int blocks = (n + 63) / 64;
// CHECK-NEXT: const auto [[SAVED:first_blocks.*]] = blocks;
// CHECK-NEXT: float *other;
// CHECK-NEXT: cudaMalloc(&other, n * sizeof(float));
// CHECK-NEXT: blocks = (n + 31) / 32;
// CHECK-NEXT: if ((long long)64 * [[SAVED]] >= n &&
// CHECK: scale{{S}}hift3<<<
// CHECK: } else {
// CHECK-NEXT: scale<<<[[SAVED]], 64>>>(t, x, 2.0f, n);
// CHECK-NEXT: shift<<<blocks, 32>>>(t, other, -3.0f, n);
void changing(float *y, float *t, const float *x, int n) {
  int blocks = (n + 63) / 64;
  scale<<<blocks, 64>>>(t, x, 2.0f, n);
  float *other;
  cudaMalloc(&other, n * sizeof(float));
  blocks = (n + 31) / 32;
  shift<<<blocks, 32>>>(t, other, -3.0f, n);
  cudaMemcpy(y, other, n * sizeof(float), cudaMemcpyDeviceToDevice);
  cudaFree(other);
}

int main() {
  const int rows = 10, columns = 100, n = rows * columns;
  float *x, *y, *t, *host = (float *)malloc(n * sizeof(float));
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMalloc(&t, n * sizeof(float));
  for (int i = 0; i < n; ++i)
    host[i] = i % 17 - 8;
  cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(y, 0, n * sizeof(float));
  cudaMemset(t, 0, n * sizeof(float));
  double sum = 0;
  auto add = [&](const float *from) {
    cudaMemcpy(host, from, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i)
      sum += host[i] * (i + 1);
  };
  chain(y, x, rows, columns);
  add(y);
  changing(y, t, x, n);
  add(y), add(t);
  both(y, t, x, n, n);          // joined
  add(y), add(t);
  both(y, t, x, n, n - 5);      // different sizes
  add(y), add(t);
  both(x, t, x, n, n);          // x changes after all of it was read
  add(x), add(t);
  both(x + 1, t, x, n - 1, n - 1); // the same, other elements
  add(x), add(t);
  printf("%.3f\n", sum);
}
