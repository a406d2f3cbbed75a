// Two kernels need the test of allocations, and the file includes nothing: it is defined once, before the first of them.
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: kb-opt -passes='schedule{kernel=normalize},schedule{kernel=weigh}' --quiet -o %t.two.cu %s && diff %t.cu %t.two.cu
// CHECK: static inline bool {{l}}ie_in_different_allocations(
// CHECK-NOT: {{^}}static inline bool {{l}}ie_in_different_allocations(
// CHECK: __global__ void normalize(
// CHECK: {{l}}ie_in_different_allocations(out, table)
// CHECK: {{l}}ie_in_different_allocations(out, table)
// CHECK: void run(

// A comment that belongs to the kernel.
__global__ void normalize(float *out, const float *table, const int *row, int n, int c) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n) {
    float sum = 0;
    for (int j = 0; j < c; ++j)
      sum += table[row[r] * c + j];
    for (int j = 0; j < c; ++j)
      out[r * c + j] = table[row[r] * c + j] / sum;
  }
}

__global__ void weigh(float *out, const float *table, const int *row, float by, int n, int c) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n) {
    float sum = 0;
    for (int j = 0; j < c; ++j)
      sum += table[row[r] * c + j];
    for (int j = 0; j < c; ++j)
      out[r * c + j] = by * table[row[r] * c + j] / sum;
  }
}

void run(float *out, float *other, const float *table, const int *row, int n, int c) {
  normalize<<<(n + 127) / 128, 128>>>(out, table, row, n, c);
  weigh<<<(n + 127) / 128, 128>>>(other, table, row, 2.0f, n, c);
}
