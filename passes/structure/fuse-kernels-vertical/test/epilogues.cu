// What follows a loop over rows, element by element: its statements stand in the loop, after the store. Memory that a function
// of the file allocates overlaps nothing.
// RUN: kb-opt -passes=fuse-kernels-vertical --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt "-passes=fuse-kernels-vertical,schedule" --quiet -o %t.both.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.both.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: grep -v '^ *//' %t.both.cu | FileCheck --check-prefix=BOTH %s
// What has been tested is not tested again, and what only runs otherwise is left as it is.
// BOTH-LABEL: void layer(
// BOTH-NEXT: if ((long long)columns * rows == n && rows > 0 && columns >= 0) {
// BOTH-NEXT: if (columns <= 1024 && columns % 4 == 0)
// BOTH: } else {
// BOTH-NEXT: center<<<
// BOTH-NEXT: softsign<<<
// BOTH-NEXT: addBias<<<
// JUDGED: correct
#include <cstdio>
#include <cstdlib>

// One value for the block, which one thread stores.
__global__ void center(float *y, const float *x, int columns) {
  __shared__ float most;
  int row = blockIdx.x;
  if (threadIdx.x == 0) {
    float value = x[row * columns];
    for (int i = 0; i < columns; ++i)
      value = fmaxf(value, x[row * columns + i]);
    most = value;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[row * columns + i] = x[row * columns + i] - most;
}

__global__ void softsign(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] / (1.0f + fabsf(x[i]));
}

__global__ void addBias(float *out, const float *x, const float *bias, int rows, int columns) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && column < columns)
    out[row * columns + column] = x[row * columns + column] + bias[column];
}

// Each row's total stands before each of its elements is needed.
__global__ void scan(float *y, float *totals, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) {
    sum += x[row * columns + i];
    y[row * columns + i] = sum;
  }
  totals[row] = sum;
}

__global__ void share(float *out, const float *y, const float *totals, int rows, int columns) {
  int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && column < columns)
    out[row * columns + column] = y[row * columns + column] / totals[row];
}

// REMARK: joined 3 launches in ''center{{S}}oftsignAddBias'', where its conditions hold
// CHECK: __global__ void center{{S}}oftsignAddBias(
// CHECK: for (int [[I:.*]] = 0; [[I]] < columns; ++[[I]]) {
// CHECK-NEXT: float [[Y:.*]] = x[{{.*}}] - value;
// CHECK-NEXT: float [[SOFT:.*]] = [[Y]] / (1.0f + fabsf([[Y]]));
// CHECK-NEXT: y[{{.*}}] = [[SOFT]];
// CHECK-NEXT: out[{{.*}}] = [[SOFT]] + bias{{.}}[[I]]];
// CHECK-NEXT: }
// CHECK: __global__ void scan{{S}}hare(
// CHECK: totals[row] = sum;
// CHECK-NEXT: for (int column = 0; column < columns; ++column)
// CHECK-NEXT: out[{{.*}}] = y[{{.*}}] / sum;
// CHECK-LABEL: void layer(
// CHECK-NEXT: if ({{.*}}columns * rows == n && rows > 0{{.*}}) {
// CHECK-NEXT: center{{S}}oftsignAddBias<<<
// CHECK: } else {
// CHECK-NEXT: center<<<
// CHECK-NEXT: softsign<<<
// CHECK-NEXT: addBias<<<
void layer(float *out, float *y, const float *x, const float *bias, int rows, int columns, int n) {
  center<<<rows, 32>>>(y, x, columns);
  softsign<<<(n + 127) / 128, 128>>>(y, n);
  addBias<<<dim3((columns + 31) / 32, (rows + 3) / 4), dim3(32, 4)>>>(out, y, bias, rows, columns);
}

// A total is known after the loop only.
void shares(float *out, float *y, float *totals, const float *x, int rows, int columns) {
  scan<<<(rows + 63) / 64, 64>>>(y, totals, x, rows, columns);
  share<<<dim3((columns + 63) / 64, rows), 64>>>(out, y, totals, rows, columns);
}

static float *allocate(size_t elements) {
  float *memory = nullptr;
  if (cudaMalloc(&memory, elements * sizeof(float)) != cudaSuccess)
    exit(EXIT_FAILURE);
  return memory;
}

int main() {
  const int rows = 21, columns = 75, n = rows * columns;
  float *host = (float *)malloc(n * sizeof(float));
  for (int i = 0; i < n; ++i)
    host[i] = i % 23 * 0.125f - 1.0f;
  float *x = allocate(n), *y = allocate(n), *out = allocate(n), *bias = allocate(columns), *totals = allocate(rows);
  cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(bias, host + 7, columns * sizeof(float), cudaMemcpyHostToDevice);
  double total = 0;
  auto check = [&](const float *from, int count) {
    cudaMemcpy(host, from, count * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i)
      total += host[i] * (i % 7 + 1);
  };
  layer(out, y, x, bias, rows, columns, n);
  check(out, n), check(y, n);
  layer(out, y, x, bias, rows, columns, n - 5); // the launches as they were
  check(out, n), check(y, n);
  shares(out, y, totals, x, rows, columns);
  check(out, n), check(y, n), check(totals, rows);
  printf("%.4f\n", total);
}
