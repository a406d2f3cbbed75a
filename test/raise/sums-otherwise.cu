// Sums in other words than `s += x`: in memory, by fmaf, as a chain, in a macro; and branches, loops and assignments in other words.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// CHECK: kb.nest @_Z5fused
// CHECK: kb.reduce "s" "add" "%a + %b" identity "0.0f" "$0 * $1"
__global__ void fused(float *y, const float *x, const float *w, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j < m; ++j)
    s = fmaf(x[i * m + j], w[j], s);
  y[i] = s;
}

// CHECK: kb.nest @_Z8inMemory
// CHECK: kb.reduce "y_value" "add" "%a + %b" identity "0.0f" "$0 * $1"
__global__ void inMemory(float *y, const float *x, const float *w, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  y[i] = 0;
  for (int j = 0; j < m; ++j)
    y[i] = y[i] + x[i * m + j] * w[j];
}

// CHECK: kb.nest @_Z8commuted
// CHECK: kb.reduce "y_value" "add" "%a + %b" identity "0.0f" "$0 * $1"
__global__ void commuted(float *y, const float *x, const float *w, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  y[i] = 0;
  for (int j = 0; j < m; ++j)
    y[i] = x[i * m + j] * w[j] + y[i];
}

// CHECK: kb.nest @_Z11fusedMemory
// CHECK: kb.reduce "y_value" "add" "%a + %b" identity "0.0f" "$0 * $1"
__global__ void fusedMemory(float *y, const float *x, const float *w, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  y[i] = 0;
  for (int j = 0; j < m; ++j)
    y[i] = fmaf(x[i * m + j], w[j], y[i]);
}

// A sum of which another operator takes part is none.
// CHECK: kb.nest @_Z8shifting
// CHECK-NOT: kb.reduce
// CHECK: kb.nest @_Z5chain
__global__ void shifting(int *y, const int *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  y[i] = 0;
  for (int j = 0; j < m; ++j)
    y[i] = y[i] + x[i * m + j] << 1;
}

// CHECK: kb.reduce "s" "add" "%a + %b" identity "0.0f" "$0"
// CHECK: kb.reduce "s" "add" "%a + %b" identity "0.0f" "-($0)"
__global__ void chain(float *y, const float *x, const float *w, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j < m; ++j)
    s = s + x[i * m + j] - w[j];
  y[i] = s;
}

#define ADD(sum, value)                                                                                                                              \
  do {                                                                                                                                               \
    sum += value;                                                                                                                                    \
  } while (0)
// CHECK: kb.nest @_Z4once
// CHECK: kb.reduce "s" "add"
__global__ void once(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int j = 0; j < m; ++j)
    ADD(s, x[i * m + j]);
  y[i] = s;
}

// CHECK: kb.nest @_Z4tree
// CHECK: kb.over "j" reduction extent <{{.*}} : m> team
__global__ void tree(float *y, const float *x, int m) {
  float s = 0;
  for (int j = threadIdx.x; j < m; j += 32)
    s += x[blockIdx.x * m + j];
  for (int o = 16; o; o >>= 1)
    s += __shfl_xor_sync(0xffffffffu, s, o);
  if (threadIdx.x == 0)
    y[blockIdx.x] = s;
}

__device__ float activated(const float *x, int i, int mode) {
  switch (mode) {
  case 0:
    return x[i] > 0 ? x[i] : 0;
  case 1:
    return tanhf(x[i]);
  default:
    return x[i];
  }
}
// CHECK: kb.nest @_Z9activates
// CHECK: tanhf
__global__ void activates(float *y, const float *x, int n, int mode) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = activated(x, i, mode);
}

// A truth value that is asked later, and a condition of the whole loop.
// CHECK: kb.nest @_Z6inside{{.*}} dims ["i"] extents [{{.*}} : n>]
// CHECK: kb.over "j" reduction extent <{{.*}} : m> {
__global__ void inside(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool isInside = i < n;
  float s = 0;
  for (int j = 0; isInside && j < m; ++j)
    s += x[j];
  if (isInside)
    y[i] = s;
}

// CHECK: kb.nest @_Z5nests
// CHECK: kb.let "k" : "int" "k * (2)" [] reassigns
// CHECK-NEXT: kb.let "value" : "int" "k"
// CHECK: kb.let "value_2" : "int" "count"
// CHECK-NEXT: kb.let "count" : "int" "count + (1)" [] reassigns
// CHECK-NEXT: kb.store {{.*}} "value_2" []
__global__ void nests(int *y, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int k = 1, count = 0;
  while ((k *= 2) < x[i])
    y[i] = count++;
}

// CHECK: kb.nest @_Z7changed
// CHECK-NEXT: kb.let "left_2" : "int" "left"
__global__ void changed(int *y, int left) {
  int i = threadIdx.x;
  while (left > 100)
    left /= 3;
  y[i] = left;
}

// What the other mention of the variable means depends on the order of evaluation.
// CHECK: kb.unraised @_Z7ordered{{.*}} "'k++' stands inside an expression"
__global__ void ordered(int *y, const int *x) {
  int i = threadIdx.x, k = x[i] & 1, v[8] = {0};
  for (int j = 0; j < x[i]; ++j)
    v[k++ & 7] = k;
  y[i] = v[3];
}

// Each step of an integer is rounded.
// CHECK: kb.nest @_Z7rounded
// CHECK-NOT: kb.reduce
__global__ void rounded(int *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  y[i] = 0;
  for (int j = 0; j < m; ++j)
    y[i] = y[i] + x[i * m + j] * 0.5f;
}
