// RUN: kb-opt -passes=version-bounds-checks --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml

// Unsigned numbers, a bound in 64 bits, an index subtracted from another, all in a namespace and a template.
// CHECK: template <bool [[FLAG:kInside[0-9]*]], typename T, unsigned kTaps>
// CHECK-NEXT: __device__ __forceinline__ void [[CLONE:filterBlock[0-9]*]](const T *x, T *y, long long n) {
// CHECK: if ([[FLAG]] || (j >= 0 && j < n))
// CHECK: template <typename T, unsigned kTaps> __global__ void filter(const T *x, T *y, long long n) {
// CHECK: const bool inside{{[0-9]*}} =
// CHECK-NEXT: static_cast<long long>(blockIdx.x * blockDim.x) - 4 >= 0 &&
// CHECK-NEXT: static_cast<long long>(blockIdx.x * blockDim.x) + blockDim.x - 1 <
// CHECK-NEXT: static_cast<long long>(n) &&
// CHECK-NEXT: static_cast<long long>(blockIdx.x * blockDim.x) + blockDim.x - 1 <= 2147483647;
// CHECK: [[CLONE]]<true, T, kTaps>(x, y, n);
// REMARK: !Passed
// REMARK: Function: 'dsp::filter'
// REMARK: String: left 2 bounds checks to blocks at the border
namespace dsp {
template <typename T, unsigned kTaps> __global__ void filter(const T *x, T *y, long long n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  T sum = 0;
  for (int k = 0; k < 5; ++k) {
    int j = i - k;
    if (j >= 0 && j < n)
      sum += x[j];
  }
  y[i] = sum;
}
} // namespace dsp

// Guards beside a loop, and a bound that is not the size itself.
// CHECK: __device__ __forceinline__ void innerBlock{{[0-9]*}}(
// CHECK: if (!kInside{{[0-9]*}} && (row < 1 || row >= rows - 1 || column < 1 || column >= columns - 1))
// CHECK: __global__ void inner(
// CHECK: static_cast<long long>(blockIdx.y * 8) >= 1 &&
// CHECK: static_cast<long long>(blockIdx.y * 8) + blockDim.y - 1 < static_cast<long long>(rows - 1) &&
__global__ void inner(const float *x, float *y, int rows, int columns) {
  int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  for (int k = 0; k < 4; ++k) {
    if (row < 1 || row >= rows - 1 || column < 1 || column >= columns - 1)
      continue;
    y[row * columns + column] += x[row * columns + column - 1] + x[row * columns + column + 1];
  }
}

void run(const float *x, float *y, long long n, int rows, int columns) {
  dsp::filter<float, 3><<<(n + 127) / 128, 128>>>(x, y, n);
  inner<<<dim3(columns / 32, rows / 8), dim3(32, 8)>>>(x, y, rows, columns);
}
