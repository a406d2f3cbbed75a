// A product, its bias and its activation: what is added to a sum while it is at hand. The bias kernel numbers rows and columns
// in one line, the activation the whole matrix.
// RUN: kb-opt -passes=fuse-kernels-vertical --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// The joined kernel is one that can be scheduled.
// RUN: kb-opt "-passes=fuse-kernels-vertical,schedule{as='contraction' kernel=product_bias_""relu_kernel}" --quiet -o %t.both.cu %s
// RUN: %code %t.both.cu | FileCheck --check-prefix=BOTH %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.both.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// JUDGED: correct
#include <cstdio>
#include <cstdlib>

__global__ void product_kernel(const float *a, const float *b, float *c, int rows, int columns, int depth) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && column < columns) {
    float sum = 0.0f;
    for (int k = 0; k < depth; ++k)
      sum += a[row * depth + k] * b[k * columns + column];
    c[row * columns + column] = sum;
  }
}

__global__ void bias_kernel(float *x, const float *bias, int elements, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements)
    x[i] += bias[i % width];
}

// REMARK: joined 3 launches in ''product_bias_{{r}}elu_kernel'', where its conditions hold
// CHECK: __global__ void product_bias_{{r}}elu_kernel(
// CHECK: for (
// CHECK-NEXT: sum += a[
// CHECK-NEXT: float [[BIASED:.*]] = sum + bias[column];
// CHECK-NEXT: c[column + (size_t)row * columns] = fmaxf([[BIASED]], 0.0f);
// BOTH: product_bias_{{r}}elu_kernel_tiled(
__global__ void relu_kernel(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = fmaxf(x[i], 0.0f);
}

// What is declared in between stays.
// CHECK-LABEL: void layer(
// CHECK: cudaGetLastError();
// CHECK-NEXT: int n = rows * columns, blocks = (n + 255) / 256;
// CHECK-NEXT: if (columns > 0 && rows > 0 && (size_t)rows * columns <= 0x7fff0000) {
// CHECK-NEXT: product_bias_{{r}}elu_kernel{{2?}}<<<(rows * columns + 255) / 256, 256>>>(
void layer(const float *a, const float *b, const float *bias, float *c, int rows, int columns, int depth) {
  dim3 block(16, 16), grid((columns + 15) / 16, (rows + 15) / 16);
  product_kernel<<<grid, block>>>(a, b, c, rows, columns, depth);
  cudaGetLastError();
  int n = rows * columns, blocks = (n + 255) / 256;
  bias_kernel<<<blocks, 256>>>(c, bias, n, columns);
  relu_kernel<<<blocks, 256>>>(c, n);
}

int main() {
  const int rows = 40, columns = 72, depth = 24;
  float *a, *b, *bias, *c, *host = (float *)malloc(rows * columns * sizeof(float));
  cudaMalloc(&a, rows * depth * sizeof(float));
  cudaMalloc(&b, depth * columns * sizeof(float));
  cudaMalloc(&bias, columns * sizeof(float));
  cudaMalloc(&c, rows * columns * sizeof(float));
  for (int i = 0; i < rows * columns; ++i)
    host[i] = i % 13 * 0.25f - 1.5f;
  cudaMemcpy(a, host, rows * depth * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b, host + 5, depth * columns * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(bias, host + 3, columns * sizeof(float), cudaMemcpyHostToDevice);
  layer(a, b, bias, c, rows, columns, depth);
  cudaMemcpy(host, c, rows * columns * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < rows * columns; ++i)
    sum += host[i] * (i % 7 + 1);
  printf("%.2f\n", sum);
}
