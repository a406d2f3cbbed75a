// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// One thread for each element: guards, early returns and grid-stride loops become the extent.

// CHECK-LABEL: kb.nest @_Z5scale
// CHECK-SAME: dims ["i"] extents [#kb.expr<over [i] with [n] : n>]
// CHECK-SAME: requires [#kb.expr<over [i] with [n] : bdim.x * gdim.x - n>]
// CHECK-NEXT: kb.store <element <argument "y" argument 0> : "float" bytes 4 at <over [i] : i>> "a * $0" [#kb.operand<element <argument "x" argument 1> : "float" bytes 4 at <over [i] : i>>]
__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

// CHECK-LABEL: kb.nest @_Z7strided
// CHECK-SAME: dims ["i"] extents [#kb.expr<over [i] with [n] : n>]
// CHECK-NOT: gdim.x - n
// CHECK: kb.store <element <argument "y" argument 0> : "float" bytes 4 at <over [i] : i>> "$0 + 1.0f"
__global__ void strided(float *y, const float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    y[i] = x[i] + 1.0f;
}

// CHECK-LABEL: kb.nest @_Z3add
// CHECK-SAME: dims ["row", "col"] extents [#kb.expr<over [row, col] with [m] : m>, #kb.expr<over [row, col] with [n] : n>]
// CHECK: kb.store <element <argument "y" argument 0> : "float" bytes 4 at <over [row, col] with [n] : col + row * n>> "$0 + $1 * (float)$2"
// CHECK-SAME: #kb.operand<index <unknown ""> : "int" bytes 4 at <over [row, col] : row>>
__global__ void add(float *y, const float *x, const float *b, int m, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  const float *line = x + row * n;
  y[row * n + col] = line[col] + b[col] * (float)row;
}

void run(float *y, const float *x, int m, int n) {
  scale<<<(n + 255) / 256, 256>>>(y, x, 2.0f, n);
  strided<<<64, 256>>>(y, x, n);
  add<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8)>>>(y, x, x, m, n);
}
