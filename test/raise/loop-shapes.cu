// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Loops in a form that says more: the updates of an element together, a loop split at a condition on its counter, and the
// neighbours that a thread computes as one dimension.

// CHECK-LABEL: kb.nest @_Z3mix
// CHECK-SAME: dims ["t", "i{{.*}}"]
// CHECK-NEXT: kb.let "out_value" : "float" "0.0f"
// CHECK-NEXT: kb.over "k" reduction extent {{.*}} : t + 1>
// CHECK: kb.reduce "out_value" "add"
// CHECK: kb.store <element <argument "out" argument 0> {{.*}} "out_value"
__global__ void mix(float *out, const float *weights, const float *x, int n, int c) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) {
    for (int i = 0; i < c; i++)
      out[t * c + i] = 0.0f;
    for (int k = 0; k <= t; k++) {
      float weight = weights[t * n + k];
      for (int i = 0; i < c; i++)
        out[t * c + i] += weight * x[k * c + i];
    }
  }
}

// An element that depends on the one before it stays in its loop.
// CHECK-LABEL: kb.nest @_Z5carry
// CHECK: kb.over "k" ascending
// CHECK: kb.over "i" ascending
__global__ void carry(float *out, const float *x, int n, int c) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n)
    for (int k = 0; k < n; k++)
      for (int i = 0; i < c; i++)
        out[t * (c + 1) + i + 1] += out[t * (c + 1) + i] * x[k * c + i];
}

// CHECK-LABEL: kb.nest @_Z4mask
// CHECK: kb.over "k" any extent <over [t] : t + 1>
// CHECK-NEXT: kb.store {{.*}} "$0 * 2.0f"
// CHECK: kb.over "k_2" any extent <over [t] with [n] : n - t - 1>
// CHECK-NEXT: kb.store {{.*}} at <over [t, k_2] with [n] : t + k_2 + t * n + 1>> "0.0f"
__global__ void mask(float *out, const float *x, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n)
    for (int k = 0; k < n; k++) {
      if (k <= t)
        out[t * n + k] = x[t * n + k] * 2.0f;
      else
        out[t * n + k] = 0.0f;
    }
}

// CHECK-LABEL: kb.nest @_Z4tile
// CHECK-SAME: dims ["j", "i"] extents [{{.*}} : gdim.y * 64>, {{.*}} : gdim.x * 64>]
// CHECK: kb.when "" [] where <over [j, i] : (i floordiv 4) * 4 - (j floordiv 4) * 4 >= 0 exact>
__global__ void tile(float *out, const float *x, int n) {
  if (blockIdx.y > blockIdx.x)
    return;
  int iFirst = 64 * blockIdx.x + 4 * threadIdx.x;
  int jFirst = 64 * blockIdx.y + 4 * threadIdx.y;
  if (jFirst > iFirst)
    return;
  for (int io = 0; io < 4; ++io) {
    int i = iFirst + io;
    for (int jo = 0; jo < 4; ++jo) {
      int j = jFirst + jo;
      float sum = 0.0f;
      for (int k = 0; k < n; ++k)
        sum += x[i * n + k] * x[j * n + k];
      out[i * n + j] = sum;
    }
  }
}

// What is read if a pointer is there stays one expression.
// CHECK-LABEL: kb.nest @_Z7product
// CHECK: kb.let "{{.*}}" : "float" "(bias != nullptr) ? (float)($0) : (float)(0.0f)" [{{.*}}"bias"
// CHECK-NOT: kb.when
// CHECK: kb.over "k" reduction
__global__ void product(float *out, const float *x, const float *w, const float *bias, int rows, int columns, int n) {
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows && j < columns) {
    float sum = bias != nullptr ? bias[j] : 0.0f;
    for (int k = 0; k < n; ++k)
      sum += x[i * n + k] * w[j * n + k];
    out[i * columns + j] = sum;
  }
}

// Iterations that hand on a sum are no points of their own, although their elements are one row of numbers.
// CHECK-LABEL: kb.nest @_Z7runningPfPKfii
// CHECK-SAME: dims ["row"]
// CHECK: kb.over "j" ascending
__global__ void running(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float sum = 0.0f;
  for (int j = 0; j < c; ++j) {
    sum += x[row * c + j];
    y[row * c + j] = sum;
  }
}

// The variable of an iteration may be declared outside.
// CHECK-LABEL: kb.nest @_Z5scalePfPKfii
// CHECK-SAME: dims ["j"] extents [#kb.expr<over [j] with [n, c] : n * c>]
__global__ void scale(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float v;
  for (int j = 0; j < c; ++j) {
    v = x[row * c + j];
    y[row * c + j] = 2.0f * v;
  }
}

// A grid-stride loop whose sum goes on is not one either.
// CHECK-LABEL: kb.nest @_Z6stridePfPKfi
// CHECK-SAME: extents [#kb.expr<over [x_] : bdim.x * gdim.x>]
// CHECK: kb.over "i" ascending
__global__ void stride(float *y, const float *x, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += x[i];
    y[i] = sum;
  }
}

// The taps of a transposed convolution with a stride of one: 0 == 0 is no condition.
// CHECK-LABEL: kb.nest @_Z10unitStride
// CHECK: kb.when "" [] where <over [x, k] : x - k >= 0, k + 999 - x >= 0 exact>
__global__ void unitStride(float *y, const float *x0, const float *w) {
  int x = blockIdx.x * 256 + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < 3; ++k) {
    int t = x - k;
    if (t < 0 || t % 1 != 0 || t / 1 >= 1000)
      continue;
    sum += x0[t / 1] * w[k];
  }
  y[x] = sum;
}
