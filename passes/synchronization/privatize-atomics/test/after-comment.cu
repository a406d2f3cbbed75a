// An update whose line before it is a comment, in a kernel that threads leave early.
// RUN: kb-opt -passes=privatize-atomics -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// CHECK: if (!(row >= rows || column >= columns)) {
// CHECK: {
// CHECK-NEXT: const auto [[BIN:[a-z0-9]+]] = column;
// CHECK-NEXT: if (static_cast<unsigned long long>([[BIN]]) <
__global__ void sums(float *sum, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns)
    return;
  float value = 2.0f * x[row * columns + column];

  // The sum of a column
  atomicAdd(&sum[column], value);
}

void run(float *sum, const float *x, int rows, int columns) {
  sums<<<dim3((rows + 15) / 16, (columns + 15) / 16), dim3(16, 16)>>>(sum, x, rows, columns);
}
