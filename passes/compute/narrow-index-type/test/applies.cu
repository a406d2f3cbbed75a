// RUN: kb-opt -passes=narrow-index-type --quiet --remarks-file=%t.yaml -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
#include <cstddef>
#include <cstdint>

// A template in two dimensions; a name with its namespace; several variables of one type.
// CHECK: void stencilNarrow{{[0-9]*}}(const T *x, T *y, int w, int h) {
// CHECK-NEXT: const int col = blockIdx.x * (int)blockDim.x + threadIdx.x,
// CHECK-NEXT: row = threadIdx.y + static_cast<int>(blockIdx.y) * blockDim.y;
// CHECK: for (int k = 0; k < w; k++)
// CHECK-NEXT: sum += x[row * w + k] * y[k * h + col];
// REMARK: Function: stencil
// REMARK: String: counted in 32 bits where the sizes allow it
template <typename T> __global__ void stencil(const T *x, T *y, size_t w, std::size_t h) {
  const size_t col = blockIdx.x * (size_t)blockDim.x + threadIdx.x, row = threadIdx.y + static_cast<size_t>(blockIdx.y) * blockDim.y;
  if (col >= w || row >= h)
    return;
  T sum = 0;
  for (std::size_t k = 0; k < w; k++)
    sum += x[row * w + k] * y[k * h + col];
  y[row * w + col] = sum;
}

// Sums of data keep their type. The last step of the counter must fit, too.
// CHECK: void sumsNarrow{{[0-9]*}}(const long *data, long *out, int n, int stride) {
// CHECK-NEXT: int i = blockIdx.x * blockDim.x + threadIdx.x;
// CHECK-NEXT: int64_t total = 0;
// CHECK-NEXT: for (int k = i; k < n; k += stride)
// CHECK-NEXT: total += data[k] * 3 + k;
__global__ void sums(const long *data, long *out, int64_t n, int64_t stride) {
  int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  int64_t total = 0;
  for (int64_t k = i; k < n; k += stride)
    total += data[k] * 3 + k;
  out[i] = total + n;
}

// An index that may be one less than zero is an index all the same.
// CHECK: void diffNarrow{{[0-9]*}}(const float *x, float *y, int n) {
// CHECK: if (i > 0 && i < n - 1)
// CHECK-NEXT: y[i] = x[i - 1] + x[i + 1];
__global__ void diff(const float *x, float *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1)
    y[i] = x[i - 1] + x[i + 1];
}

// CHECK-LABEL: void run
void run(const float *x, float *y, long *d, size_t w, size_t h) {
  // CHECK: if (h > 0 && w > 0 &&
  // CHECK: (double)h * w
  // CHECK: stencilNarrow{{[0-9]*}}<<<dim3(
  stencil<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)>>>(x, y, w, h);
  // CHECK: if ((long)w > 0 && w > 0 && (double)w + (double)(long)w + 257.0 <= 2147483647.0)
  // CHECK-NEXT: sumsNarrow{{[0-9]*}}<<<(w + 255) / 256, 256>>>(d, d + w, w, 1);
  // CHECK-NEXT: else
  // CHECK-NEXT: sums<<<(w + 255) / 256, 256>>>(d, d + w, w, 1);
  sums<<<(w + 255) / 256, 256>>>(d, d + w, w, 1);
  // CHECK: if (w > 0 && (double)w + 257.0 <= 2147483647.0)
  // CHECK-NEXT: diffNarrow
  diff<<<(w + 255) / 256, 256>>>(x, y, w);
}
