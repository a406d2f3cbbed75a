// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Loops that walk along one line together are one loop.

// CHECK-LABEL: kb.nest @_Z5whole
// CHECK-SAME: requires [{{.*}} : 2147483647 - n * 1024>]
// CHECK: kb.over "k" reduction extent <over [b] with [n] : n * 1024>
// CHECK-NEXT: kb.reduce "sum" {{.*}} at <over [b, k] with [n] : k + b * n * 1024>>]
__global__ void whole(float *y, const float *x, int n) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 128; ++k)
        sum += x[((b * n + i) * 8 + j) * 128 + k];
  y[b] = sum;
}

// The loop over the rows of another width stays.
// CHECK-LABEL: kb.nest @_Z6padded
// CHECK: kb.over "i" reduction
// CHECK-NEXT: kb.over "k" reduction extent <over [b, i] : 96>
__global__ void padded(float *y, const float *x, int n) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < 16; ++k)
        sum += x[b + i * 128 + j * 16 + k];
  y[b] = sum;
}

// Both are one line for x, and none for the weights.
// CHECK-LABEL: kb.nest @_Z8weighted
// CHECK: kb.over "i" reduction
// CHECK-NEXT: kb.over "j" reduction
__global__ void weighted(float *y, const float *x, const float *w, int n) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 16; ++j)
      sum += x[b + i * 16 + j] * w[j];
  y[b] = sum;
}

// The value of i is used.
// CHECK-LABEL: kb.nest @_Z7indexed
// CHECK: kb.over "i" reduction
// CHECK-NEXT: kb.over "j" reduction
__global__ void indexed(float *y, const float *x, int n) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 16; ++j)
      sum += i * x[b + i * 16 + j];
  y[b] = sum;
}

// With m below 0 and n, too, the product would be a number of iterations: the launch tests m.
// CHECK-LABEL: kb.nest @_Z9parameter
// CHECK-SAME: requires [{{.*}} : 2147483647 - n * m>, #kb.expr<over [b] with [m] : m>]
// CHECK: kb.over "j" reduction extent <over [b] with [n, m] : n * m>
__global__ void parameter(float *y, const float *x, int n, int m) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j)
      sum += x[b + i * m + j];
  y[b] = sum;
}

// A triangle has no rows of one length.
// CHECK-LABEL: kb.nest @_Z8triangle
// CHECK: kb.over "i" reduction
// CHECK-NEXT: kb.over "j" reduction
__global__ void triangle(float *y, const float *x, int n) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j)
      sum += x[b + i * 16 + j];
  y[b] = sum;
}
