// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Unsigned indices wrap below zero. Where the conditions around them show that they do not, nothing is required of the launch.

// CHECK-LABEL: kb.nest @_Z4wave
// CHECK-NOT: #kb.expr<over [y, x] : -1>
// CHECK-NOT: with [cols] : cols * -1>
// CHECK: kb.when
// CHECK: kb.store <element <argument "next" argument 0>
__global__ void wave(float *next, const float *prev, size_t rows, size_t cols) {
  size_t x = blockIdx.x * blockDim.x + threadIdx.x;
  size_t y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < cols && y < rows) {
    size_t at = y * cols + x;
    if (x >= 1 && x < cols - 1 && y >= 1 && y < rows - 1)
      next[at] = prev[at - 1] + prev[at + 1] + prev[at - cols] + prev[at + cols];
  }
}

// Digits that are put together again are the index, whose least value a condition on the digit gives.
// CHECK-LABEL: kb.nest @_Z5solve
// CHECK-NOT: #kb.expr<over [j, i] : -1>
// CHECK-NOT: with [n] : n * -1>
// CHECK: kb.when {{.*}} where <over [j, i] : i - 1 >= 0 exact>
__global__ void solve(double *next, const double *prev, unsigned n) {
  int idx = blockDim.x * blockIdx.x + threadIdx.x;
  if (idx < n * n) {
    int i = idx % n, j = idx / n;
    next[i + j * n] = prev[i + j * n] + ((i > 0) ? prev[i - 1 + j * n] : 0.0) + ((j > 0) ? prev[i + (j - 1) * n] : 0.0);
  }
}

// Without the condition the index of the first element wraps, so that no launch may run another form.
// CHECK-LABEL: kb.nest @_Z9unguarded
// CHECK-SAME: #kb.expr<over [x] : -1>
__global__ void unguarded(float *next, const float *prev, size_t n) {
  size_t x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < n)
    next[x] = prev[x - 1];
}

// A condition on another index shows nothing.
// CHECK-LABEL: kb.nest @_Z5other
// CHECK-SAME: #kb.expr<over [y, x] : -1>
__global__ void other(float *next, const float *prev, size_t rows, size_t cols) {
  size_t x = blockIdx.x * blockDim.x + threadIdx.x;
  size_t y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < cols && y < rows)
    if (y >= 1)
      next[y * cols + x] = prev[x - 1];
}

// Conditions joined by & are as good as by &&, and max(i, 0) of what is not negative is i.
// CHECK-LABEL: kb.nest @_Z4pick
// CHECK: kb.when "" [] where <over [j, i] : i - 4 >= 0, j - 4 >= 0
__global__ void pick(float *y, const float *x, int n) {
  int i = max((int)(blockIdx.x * blockDim.x), 0) + (int)threadIdx.x;
  int j = max((int)(blockIdx.y * blockDim.y), 0) + (int)threadIdx.y;
  if (i >= 4 & j >= 4 & i <= n - 5 & j <= n - 5)
    y[j * n + i] = x[j * n + i - 4];
}

// Numbers joined by & are no conditions.
// CHECK-LABEL: kb.nest @_Z4bits
// CHECK: kb.when "$0 & mask"
__global__ void bits(float *y, int n, int mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    if (i & mask)
      y[i] = 1.0f;
}

// An argument of the template chooses the index.
// CHECK-LABEL: kb.nest @_Z6chosenILb0
// CHECK-NOT: kb.let
// CHECK: kb.store {{.*}} column + row * n
template <bool swapped> __global__ void chosen(float *out, const float *in, int n) {
  const int row = swapped ? blockIdx.x : blockIdx.y, column = swapped ? blockIdx.y : blockIdx.x;
  out[row * n + column] = in[row * n + column];
}
template __global__ void chosen<false>(float *, const float *, int);
