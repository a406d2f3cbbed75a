// Loops over rows and the maps around them: a maximum, a sum and the quotients of a softmax; a sum of two arrays before a
// normalization.
// RUN: kb-opt -passes=fuse-kernels-vertical --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt "-passes=fuse-kernels-vertical,schedule{as='rows' kernel=row_maximum_row_""total_divide},schedule{as='rows' kernel=add""Normalize}" --quiet -o %t.both.cu %s
// RUN: %code %t.both.cu | FileCheck --check-prefix=BOTH %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.both.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// JUDGED: correct
#include <cstdio>
#include <cstdlib>

__global__ void row_maximum(const float *x, float *most, int columns) {
  int row = blockIdx.x;
  float value = x[row * columns];
  for (int i = 0; i < columns; ++i)
    value = fmaxf(value, x[row * columns + i]);
  most[row] = value;
}

__global__ void row_total(const float *x, const float *most, float *total, int columns) {
  int row = blockIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i)
    sum += expf(x[row * columns + i] - most[row]);
  total[row] = sum;
}

__global__ void divide(float *x, const float *most, const float *total, int rows, int columns) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && column < columns)
    x[row * columns + column] = expf(x[row * columns + column] - most[row]) / total[row];
}

__global__ void add(float *out, const float *a, const float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = a[i] + b[i];
}

__global__ void normalize(float *out, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i)
      sum += x[row * columns + i];
    float mean = sum / columns, squares = 0.0f;
    for (int i = 0; i < columns; ++i)
      squares += (x[row * columns + i] - mean) * (x[row * columns + i] - mean);
    float scale = rsqrtf(squares / columns + 1e-5f);
    for (int i = 0; i < columns; ++i)
      out[row * columns + i] = (x[row * columns + i] - mean) * scale;
  }
}

// REMARK: joined 3 launches in ''row_maximum_row_total_{{d}}ivide'', without storing ''most'' and ''total'', where its conditions hold
// REMARK: joined 2 launches in ''add{{N}}ormalize'', where its conditions hold
// REMARK: joined 2 launches in ''halve{{N}}ormalize'', where its conditions hold
// CHECK: __global__ void row_maximum_row_total_{{d}}ivide(float *__restrict__ x, int columns, int row_count)
// CHECK: value = fmaxf(value,
// CHECK: sum += expf(x[{{.*}}] - value);
// CHECK: for (int column = 0; column < columns; ++column)
// CHECK-NEXT: x[column + (size_t)row * columns] =
// CHECK: __global__ void add{{N}}ormalize(
// The sum is stored once, and formed again where it is needed.
// CHECK: for (
// CHECK: float [[FIRST:.*]] = a[{{.*}}] + b[{{.*}}];
// CHECK-NEXT: out[{{.*}}] = [[FIRST]];
// CHECK-NEXT: sum += [[FIRST]];
// CHECK: for (
// CHECK-NEXT: float [[SECOND:.*]] = a[{{.*}}] + b[{{.*}}];
// CHECK-NEXT: squares += ([[SECOND]] - mean) * ([[SECOND]] - mean);
// CHECK-NOT: out[
// CHECK: out2[
// BOTH-DAG: row_maximum_row_total_{{d}}ivide_rows(
// BOTH-DAG: add{{N}}ormalizeRows(
// CHECK-LABEL: void softmax(
// CHECK: if (rows > 0)
// CHECK-NEXT: row_maximum_row_total_{{d}}ivide<<<
void softmax(float *x, int rows, int columns) {
  float *most, *total;
  cudaMalloc(&most, rows * sizeof(float));
  cudaMalloc(&total, rows * sizeof(float));
  row_maximum<<<rows, 1>>>(x, most, columns);
  row_total<<<rows, 1>>>(x, most, total, columns);
  dim3 block(32, 4), grid((columns + 31) / 32, (rows + 3) / 4);
  divide<<<grid, block>>>(x, most, total, rows, columns);
  cudaFree(most);
  cudaFree(total);
}

// CHECK-LABEL: void residual(
void residual(float *out, float *sum, const float *a, const float *b, int rows, int columns) {
  add<<<(rows * columns + 255) / 256, 256>>>(sum, a, b, rows * columns);
  normalize<<<(rows + 63) / 64, 64>>>(out, sum, rows, columns);
}

// What changes in place changes in the first loop, once.
// CHECK-LABEL: void inPlace(
// CHECK: halve{{N}}ormalize<<<
__global__ void halve(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 0.5f;
}

void inPlace(float *out, float *x, int rows, int columns) {
  halve<<<(rows * columns + 255) / 256, 256>>>(x, rows * columns);
  normalize<<<(rows + 63) / 64, 64>>>(out, x, rows, columns);
}

int main() {
  const int rows = 20, columns = 90, n = rows * columns;
  float *x, *y, *sum, *out, *host = (float *)malloc(n * sizeof(float));
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMalloc(&sum, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  for (int i = 0; i < n; ++i)
    host[i] = i % 19 * 0.125f - 1.0f;
  cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(y, host, n * sizeof(float), cudaMemcpyHostToDevice);
  double total = 0;
  auto check = [&](const float *from) {
    cudaMemcpy(host, from, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i)
      total += host[i] * (i % 7 + 1);
  };
  softmax(x, rows, columns);
  check(x);
  residual(out, sum, x, y, rows, columns);
  check(out), check(sum);
  residual(y, sum, x, y, rows, columns); // in place
  check(y), check(sum);
  inPlace(out, x, rows, columns);
  check(out), check(x);
  printf("%.4f\n", total);
}
