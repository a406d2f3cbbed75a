// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Loops that go on where another one stopped, that several conditions end, and that share out a tile.

// CHECK-LABEL: kb.nest @_Z5pairs
// CHECK: kb.over "j" reduction extent <over [i] with [m] : (m floordiv 2)>
// CHECK: kb.over "j_2" reduction extent <over [i] with [m] : m - (m floordiv 2) * 2>
// CHECK-NEXT: kb.reduce {{.*}} "$0" [{{.*}} at <over [i, j_2] with [m] : j_2 + (m floordiv 2) * 2 + i * m>>]
__global__ void pairs(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0.0f;
  int j = 0;
  for (; j + 1 < m; j += 2)
    sum += x[i * m + j] * x[i * m + j + 1];
  for (; j < m; ++j)
    sum += x[i * m + j];
  y[i] = sum;
}

// CHECK-LABEL: kb.nest @_Z5tiles
// CHECK-SAME: dims ["r", "c"] extents [#kb.expr<over [r, c] with [n] : n>, #kb.expr<over [r, c] with [m] : m>]
// CHECK-SAME: requires [#kb.expr<over [r, c] with [n] : gdim.y * 4 - n>]
// CHECK-NEXT: kb.store {{.*}} at <over [r, c] with [m] : c + r * m>>
__global__ void tiles(float *y, const float *x, int n, int m) {
  int first = blockIdx.y * 4;
  for (int r = first; r < min(first + 4, n); ++r)
    for (int c = threadIdx.x; c < m; c += blockDim.x)
      y[r * m + c] = 2.0f * x[r * m + c];
}

// CHECK-LABEL: kb.nest @_Z7bounded
// CHECK: kb.over "j" reduction extent <over [i] : 16>
// CHECK-NEXT: kb.when "" [] where <over [i, j] with [n] : n - i - j - 1 >= 0 exact>
__global__ void bounded(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0.0f;
  for (int j = 0; j < 16 && i + j < n; ++j)
    sum += x[i + j];
  y[i] = sum;
}

// CHECK-LABEL: kb.nest @_Z4axisILi0EE
// CHECK: kb.over "j" reduction extent <over [x_] with [n] : n>
// CHECK-LABEL: kb.nest @_Z4axisILi1EE
// CHECK: kb.over "j" reduction extent <over [x_] with [m] : m>
template <int Axis> __global__ void axis(float *y, const float *x, int n, int m) {
  int row, length;
  if (Axis == 0) {
    row = blockIdx.x;
    length = n;
  } else {
    row = blockIdx.x * 2;
    length = m;
  }
  float sum = 0.0f;
  for (int j = 0; j < length; ++j)
    sum += x[row + j];
  y[row] = sum;
}

// CHECK: kb.nest @_Z6leavesPfPKfi
// CHECK: kb.over "turn{{.*}} while "runs
// The loop is left at another place in each row.
__global__ void leaves(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = 0;
  if (i < n)
    for (; j < n; ++j)
      y[i] = x[j];
  if (j < n)
    y[i] = 0.0f;
}

void run(float *y, const float *x, int n, int m) {
  axis<0><<<n, 1>>>(y, x, n, m);
  axis<1><<<n, 1>>>(y, x, n, m);
}
