// Few outputs with long sums: blocks share out the terms of each sum, and a second kernel adds up what they have.
// RUN: kb-opt -arch=sm_90 -passes='schedule{kernel=layer as="contraction core=half bm=32 bn=64 bk=64 tm=32 tn=32 stages=3 parts=4"},schedule{kernel=forward as="contraction core=half bm=32 bn=64 bk=64 tm=32 tn=32 stages=3 parts=2"},schedule{kernel=product as="contraction bm=64 bn=64 bk=16 tm=4 tn=4 vector=1 parts=3"},schedule{kernel=rowSums as="rows parts=8"},schedule{kernel=largest as="rows parts=2"},schedule{kernel=twice as="rows parts=2"},schedule{kernel=softmax as="rows parts=8"},schedule{kernel=normalize as="rows parts=32 vector=4"},schedule{kernel=shift as="rows parts=4"}' -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s -- -arch=sm_90 | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt -passes='schedule{kernel=before as="rows parts=2"}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=BEFORE %s
// RUN: kb-opt -passes='schedule{kernel=triangle as="rows parts=2"}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=TRIANGLE %s
// RUN: kb-opt -passes='schedule{kernel=averages as="rows parts=7"}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=DIVIDES %s
// RUN: kb-opt -passes='split-k{kernel=product split=1 parts=2}' -o - %s 2>/dev/null | FileCheck --check-prefix=SPLIT %s
// REMARK: added 'layer_{{t}}iled', 'layer_{{e}}nd' ({{.*}}parts=4
// REMARK: added 'forward_{{t}}iled', 'forward_{{e}}nd' ({{.*}}parts=2
// REMARK: added 'product_{{t}}iled', 'product_{{e}}nd' ({{.*}}parts=3
// REMARK: added 'rowSums{{R}}ows', 'rowSums{{E}}nd' ({{.*}}parts=8
// REMARK: added 'largest_{{r}}ows', 'largest_{{e}}nd' ({{.*}}parts=2
// REMARK: added 'twice{{_}}rows', 'twice{{_}}end' ({{.*}}parts=2
// REMARK: added 'softmax{{_}}rows', 'softmax{{_}}total', 'softmax{{_}}rows2', 'softmax{{_}}total2', 'softmax{{_}}end' ({{.*}}parts=8
// REMARK: added 'normalize{{_}}rows', 'normalize{{_}}total', 'normalize{{_}}rows2', 'normalize{{_}}total2', 'normalize{{_}}end' ({{.*}}parts=32
// REMARK: added 'shift{{_}}rows', 'shift{{_}}total', 'shift{{_}}end' ({{.*}}parts=4
// JUDGED: {{^}}correct
// BEFORE: it stores something before a sum
// TRIANGLE: the length of its sum differs between outputs
// DIVIDES: 7 parts do not divide its sum of 64 terms
// SPLIT: product_{{t}}iled<<<
// CHECK: static inline void *memory_{{f}}or_launch(size_t bytes, cudaStream_t stream) {
// CHECK-NOT: memory_{{f}}or_launch(size_t
// CHECK: layer_{{e}}nd(
// CHECK: void multiply(
// CHECK: if (float *product_{{m}}emory =
// CHECK-NEXT: k % 3 == 0 && m > 0 && n > 0
// CHECK-NEXT: ? (float *)memory_{{f}}or_launch(sizeof(float) * ({{.*}}), 0)
// CHECK-NEXT: : nullptr) {
// CHECK: } else {
// CHECK-NEXT: product<<<grid, block>>>(
// CHECK: if (float *layer_{{m}}emory = (float *)memory_{{f}}or_launch(sizeof(float) * ((long long)m * n * 4), 0)) {
// CHECK-NEXT: layer_{{t}}iled<<<
// CHECK: layer_{{e}}nd<<<
// CHECK-NEXT: cudaFreeAsync(layer_{{m}}emory, 0);
// CHECK-NEXT: } else {
// CHECK-NEXT: layer<<<
// CHECK: memory_{{f}}or_launch(sizeof(double) * {{.*}}, stream)
// CHECK: cudaFreeAsync(rowSums{{M}}emory, stream);
// What follows has a point for each iteration of the last loop, and as wide accesses.
// CHECK: softmax{{_}}rows<<<
// CHECK-NEXT: softmax{{_}}total<<<
// CHECK-NEXT: softmax{{_}}rows2<<<
// CHECK-NEXT: softmax{{_}}total2<<<
// CHECK-NEXT: softmax{{_}}end<<<dim3((k + 127) / 128, (5 + 7) / 8), dim3(32, 8)>>>(
// CHECK-NEXT: cudaFreeAsync(softmax{{_}}memory, 0);
// CHECK: (float *)memory_{{f}}or_launch(sizeof(float) * ((long long)5 * 66), 0)
// The first element of a row is read before any is stored, so that a row stays with its team.
// CHECK: shift{{_}}end<<<(5 + 7) / 8, dim3(32, 8)>>>(
#include <cstdio>
#include <cuda_fp16.h>
#include <vector>

__global__ void layer(const half *x, const half *w, const float *bias, half *y, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = bias[col];
  for (int i = 0; i < k; ++i)
    sum += __half2float(x[row * k + i]) * __half2float(w[col * k + i]);
  y[row * n + col] = __float2half(fmaxf(sum, 0.0f));
}

__global__ void forward(const half *x, const half *w, half *y, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __half2float(x[row * k + i]) * __half2float(w[i * n + col]);
  y[row * n + col] = __float2half(sum);
}

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k, float beta) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m && col < n) {
    float sum = 0;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = beta * c[row * n + col] + sum;
  }
}

__global__ void rowSums(const float *in, double *out, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  double sum = 1;
  for (int i = 0; i < columns; ++i)
    sum += in[row * columns + i];
  out[row] = sum / columns;
}

__global__ void largest(const int *in, int *out, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    int most = in[row * columns];
    for (int i = 0; i < columns; ++i)
      most = max(most, in[row * columns + i]);
    out[row] = most;
  }
}

__global__ void twice(const float *in, float *out, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0, squares = 0;
  for (int i = 0; i < columns; ++i) {
    sum += in[row * columns + i];
    squares += in[row * columns + i] * in[row * columns + i];
  }
  out[row] = squares - sum * sum / columns;
}

__global__ void softmax(float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float most = -1e30f, sum = 0;
  for (int i = 0; i < columns; ++i)
    most = fmaxf(most, x[row * columns + i]);
  for (int i = 0; i < columns; ++i)
    sum += expf(x[row * columns + i] - most);
  for (int i = 0; i < columns; ++i)
    x[row * columns + i] = expf(x[row * columns + i] - most) / sum;
}

__global__ void normalize(float *y, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float mean = 0, variance = 0;
  for (int i = 0; i < columns; ++i)
    mean += x[row * columns + i];
  mean /= columns;
  for (int i = 0; i < columns; ++i)
    variance += (x[row * columns + i] - mean) * (x[row * columns + i] - mean);
  const float scale = rsqrtf(variance / columns + 1e-5f);
  for (int i = 0; i < columns; ++i)
    y[row * columns + i] = (x[row * columns + i] - mean) * scale;
}

__global__ void shift(float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float first = x[row * columns], sum = 0;
  for (int i = 0; i < columns; ++i)
    sum += x[row * columns + i] - first;
  for (int i = 0; i < columns; ++i)
    x[row * columns + i] = (x[row * columns + i] - first) * sum;
}

__global__ void before(float *y, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0, last = 0;
  for (int i = 0; i < columns; ++i)
    sum += x[row * columns + i];
  y[2 * row] = sum;
  for (int i = 0; i < columns; ++i)
    last = fmaxf(last, x[row * columns + i] - sum);
  y[2 * row + 1] = last;
}

__global__ void triangle(const float *in, float *out, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int i = 0; i < row; ++i)
    sum += in[row * rows + i];
  out[row] = sum;
}

__global__ void averages(const float *in, float *out, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int i = 0; i < 64; ++i)
    sum += in[row * 64 + i];
  out[row] = sum / 64;
}

template <typename T> T *onDevice(const std::vector<T> &host) {
  T *device;
  cudaMalloc(&device, host.size() * sizeof(T));
  cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
  dim3 grid((n + 31) / 32, (m + 7) / 8), block(32, 8);
  product<<<grid, block>>>(a, b, c, m, n, k, 0.5f);
}

int main() {
  const int m = 40, n = 72, k = 384;
  std::vector<half> halves(n * k);
  std::vector<float> floats(n * k);
  std::vector<int> integers(n * k);
  for (int i = 0; i < n * k; ++i) {
    integers[i] = i * 7 % 23 - 11;
    halves[i] = __float2half(integers[i] / 16.0f);
    floats[i] = integers[i] / 8.0f;
  }
  half *x = onDevice(halves), *y = onDevice(halves), *z = onDevice(halves);
  float *a = onDevice(floats), *c = onDevice(floats);
  int *numbers = onDevice(integers), *most = onDevice(integers);
  double *sums = onDevice(std::vector<double>(n));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  dim3 grid((n + 31) / 32, (m + 7) / 8), block(32, 8);
  layer<<<grid, block>>>(x, x, a, y, m, n, k);
  forward<<<grid, block>>>(x, x, z, m, n, k);
  multiply(a, a, c, m, n, k);
  multiply(a, a, c, m, n, 100); // 3 does not divide it
  cudaDeviceSynchronize();
  rowSums<<<1, 32, 0, stream>>>(a, sums, 5, k);
  cudaStreamSynchronize(stream);
  largest<<<1, 32>>>(numbers, most, 5, k);
  twice<<<1, 32>>>(a, c + m * n, 5, k);
  float *rows = onDevice(floats), *rows2 = onDevice(floats);
  softmax<<<1, 32>>>(rows, 5, k);
  normalize<<<1, 32>>>(rows2, rows, 5, k);
  shift<<<1, 32>>>(rows, 5, k);
  triangle<<<1, 32>>>(a, c + m * n + 5, 9);
  averages<<<1, 32>>>(a, c + m * n + 14, 9);
  std::vector<half> out(m * n), forwards(m * n);
  std::vector<float> results(m * n + 23);
  std::vector<double> means(5);
  cudaMemcpy(out.data(), y, m * n * sizeof(half), cudaMemcpyDeviceToHost);
  cudaMemcpy(forwards.data(), z, m * n * sizeof(half), cudaMemcpyDeviceToHost);
  cudaMemcpy(results.data(), c, results.size() * sizeof(float), cudaMemcpyDeviceToHost);
  before<<<1, 32>>>(c, rows2, 5, k);
  cudaMemcpy(floats.data(), rows2, 5 * k * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(means.data(), sums, 5 * sizeof(double), cudaMemcpyDeviceToHost);
  cudaMemcpy(integers.data(), most, 5 * sizeof(int), cudaMemcpyDeviceToHost);
  printf("%g %g %g %g %d\n", __half2float(out[m * n - 1]), __half2float(forwards.back()), results.back(), means[4], integers[4]);
  printf("%g\n", floats[k]);
}
