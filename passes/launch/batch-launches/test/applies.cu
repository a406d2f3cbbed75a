// Loops of launches that become one: pointers that move on, an integer that counts, several loops, waits and checks after each
// launch. Empty loops, loops of one launch and arrays that overlap.
// RUN: kb-opt -passes=batch-launches --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// The new kernels are raised again and get schedules; the pass leaves its own fallbacks alone.
// RUN: kb-opt -passes=batch-launches,schedule --quiet -o %t.scheduled.cu %s
// RUN: grep -v '^ *//' %t.scheduled.cu | FileCheck --check-prefix=SCHEDULED %s
// RUN: kb-opt --by-passes --judge=%t.scheduled.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: kb-opt -passes=batch-launches --quiet -o %t.again.cu %t.cu && diff %t.cu %t.again.cu
// JUDGED: correct
#include <cstdio>
#include <cstdlib>
#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t error = call;                                                                                          \
    if (error != cudaSuccess) {                                                                                        \
      printf("%s\n", cudaGetErrorString(error));                                                                       \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

// CHECK: __global__ void product{{B}}atch(float *__restrict__ c, const float *__restrict__ a,
// CHECK: if (point >= batch * m * n)
__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m && column < n) {
    float sum = 0;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}

// CHECK: __global__ void head{{B}}atch(
// CHECK: int h = (h2 + 1);
__global__ void head(float *out, const float *in, int h, int heads, int width, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * width) {
    int row = i / width, column = i % width;
    out[(row * heads + h) * width + column] = in[(row * heads + h) * width + column] * h;
  }
}

// CHECK: __global__ void row_{{b}}atch_kernel(
__global__ void row_kernel(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * 0.5f + 1.0f;
}

// The right matrix is the same for all.
// REMARK: made one launch of the loop over ''i'' in ''product{{B}}atch'', where its conditions hold
// CHECK-LABEL: void products(
// CHECK: if (batch > 0 && m > 0 && n > 0 && (size_t)batch * m * n <= 0x7fff0000 &&
// CHECK: (b + (long long)n * k <= c || c + (long long)m * n * batch <= b)) {
// CHECK-NEXT: product{{B}}atch<<<(batch * m * n + 255) / 256, 256>>>(c, a, b, m, n, k, batch);
// CHECK-NEXT: CHECK(cudaGetLastError());
// CHECK-NEXT: } else {
// CHECK-NEXT: for (int i = 0; i < batch; i++) {
// SCHEDULED-LABEL: void products(
// SCHEDULED: product{{B}}atchTiled{{.*}}<<<
void products(float *c, const float *a, const float *b, int batch, int m, int n, int k) {
  dim3 grid((n + 15) / 16, (m + 15) / 16), block(16, 16);
  for (int i = 0; i < batch; i++) {
    const float *left = a + (size_t)i * m * k;
    float *result = &c[i * m * n];
    product<<<grid, block>>>(result, left, b, m, n, k);
    CHECK(cudaGetLastError());
  }
}

// The kernel is passed the number; the first one is left out.
// REMARK: made one launch of the loop over ''h'' in ''head{{B}}atch''
// CHECK-LABEL: void heads(
// CHECK: head{{B}}atch<<<
// CHECK: for (int h = 1; h < count; ++h)
// SCHEDULED-LABEL: void heads(
// SCHEDULED: head{{B}}atchWide<<<
void heads(float *out, const float *in, int count, int width, int rows) {
  for (int h = 1; h < count; ++h)
    head<<<(rows * width + 127) / 128, 128>>>(out, in, h, count, width, rows);
}

// Both loops become one launch, and one wait is enough.
// REMARK: made one launch of the loop over ''b'' and ''r'' in ''row_{{b}}atch_kernel'', where
// CHECK-LABEL: void rows(
// CHECK: row_{{b}}atch_kernel<<<
// CHECK-NEXT: cudaDeviceSynchronize();
// CHECK-NEXT: } else {
// CHECK-NEXT: for (int b = 0; b < batch; ++b)
void rows(float *x, int batch, int count, int n) {
  for (int b = 0; b < batch; ++b)
    for (int r = 0; r < count; ++r) {
      row_kernel<<<(n + 127) / 128, 128>>>(x + (b * count + r) * n, n);
      cudaDeviceSynchronize();
    }
}

// Each step needs the one before; the launches of one step do not need each other. Nothing is left to test.
// REMARK: made one launch of the loop over ''r'' in ''row_{{b}}atch_kernel2''
// CHECK-LABEL: void steps(
// CHECK-NEXT: for (int t = 0; t < times; ++t)
// CHECK-NEXT: row_{{b}}atch_kernel2<<<(4 * 96 + 255) / 256, 256>>>(x, 96);
// CHECK-NEXT: }
void steps(float *x, int times) {
  for (int t = 0; t < times; ++t)
    for (int r = 0; r < 4; ++r)
      row_kernel<<<3, 32>>>(x + r * 96, 96);
}

// Sizes are constants of the program, and each launch adds to one element.
// REMARK: made one launch of the loop over ''part'' in ''total{{B}}atch''
// CHECK-LABEL: void totals(
// CHECK: total{{B}}atch<<<(4 * 256 + 255) / 256, 256>>>(sum, x, 256);
__global__ void total(float *sum, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(sum, x[i]);
}
void totals(float *sum, const float *x) {
  for (int part = 0; part < 4; ++part)
    total<<<2, 128>>>(sum, x + part * 256, 256);
}

int main() {
  const int size = 4096;
  float *x, *y, *host = (float *)malloc(size * sizeof(float));
  cudaMalloc(&x, size * sizeof(float));
  cudaMalloc(&y, size * sizeof(float));
  for (int i = 0; i < size; ++i)
    host[i] = i % 17 - 8;
  cudaMemcpy(x, host, size * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(y, 0, size * sizeof(float));
  double sum = 0;
  auto add = [&](const float *from) {
    cudaMemcpy(host, from, size * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < size; ++i)
      sum += host[i] * (i % 97 + 1);
  };
  for (int batch = 0; batch < 4; ++batch) {
    products(y, x, x + 2048, batch, 9, 20, 12);
    add(y);
    heads(y + 1000, x, batch, 8, 5);
    add(y);
    rows(y + 2000, batch, 3, 33);
    add(y);
  }
  products(y, x, x + 64, 5, 1, 1, 1);
  add(y);
  products(x + 100, x, x + 2048, 3, 8, 8, 8); // a launch reads what an earlier one stores
  add(x);
  heads(x + 8, x, 4, 8, 3); // each head reads the one before
  add(x);
  steps(x, 3);
  add(x);
  totals(y, x);
  add(y);
  printf("%.3f\n", sum);
}
