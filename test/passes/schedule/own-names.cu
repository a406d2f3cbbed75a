// What a new kernel calls its own has other names where the user has macros or template parameters of those names.
// RUN: kb-opt "-passes=schedule{as='rows team=32'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: kb-opt verify --by-passes --promise=reassociates %s %t.cu | FileCheck --check-prefix=SAME %s
// CHECK: sums_{{r}}ows(float
// CHECK: const int lane_ = threadIdx.x;
// CHECK: offset_ /= 2
// CHECK: if (lane_ == 0)
// CHECK-NEXT: out[i] = s * 3;
// SAME: {{^}}correct
#include <cstdio>
#define lane (threadIdx.x % 32)

template <int offset> __global__ void sums(float *out, const float *in, int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows)
    return;
  float s = 0;
  for (int j = 0; j < columns; ++j)
    s += in[i * columns + j];
  out[i] = s * 3;
}

int main() {
  const int rows = 64, columns = 96;
  static float numbers[rows * columns], result[rows];
  for (int i = 0; i < rows * columns; ++i)
    numbers[i] = i * 37 % 101 / 64.0f;
  float *in, *out;
  cudaMalloc(&in, sizeof numbers);
  cudaMalloc(&out, sizeof result);
  cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  sums<4><<<(rows + 63) / 64, 64>>>(out, in, rows, columns);
  cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
  printf("%f %f\n", result[0], result[rows - 1]);
}
