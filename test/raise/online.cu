// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// The maximum and the rescaled sum of a row in one loop, shared out among the lanes of a warp. Where the maximum starts at -INFINITY, a thread
// that meets -INFINITY first has NaN, and so has the sum.
__global__ void share(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= n)
    return;
  float top = -INFINITY, sum = 0.0f;
  for (int j = lane; j < c; j += 32) {
    float v = x[row * c + j], before = top;
    top = fmaxf(top, v);
    sum *= expf(before - top);
    sum += expf(v - top);
  }
  float most = top;
  for (int offset = 16; offset > 0; offset /= 2)
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, offset));
  sum *= expf(top - most);
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  for (int j = lane; j < c; j += 32)
    y[row * c + j] = expf(x[row * c + j] - most) / sum;
}
// CHECK-LABEL: kb.nest @_Z5sharePfPKfii
// CHECK: kb.over "j" reduction {{.*}} team {
// CHECK-NEXT: kb.let "v"
// CHECK-NEXT: kb.reduce "top" "max" "fmaxf(%a, %b)" identity "-INFINITY" "v"
// CHECK-NEXT: }
// CHECK-NEXT: kb.over "j_3" reduction {{.*}} team {
// CHECK-NEXT: kb.let "v_2"
// CHECK-NEXT: kb.reduce "sum" "add" "%a + %b" identity "0.0f" "expf(v_2 - top)"
// CHECK-NEXT: kb.when "" [] where <over [row, j_3] : 31 - j_3 >= 0 exact> {
// CHECK-NEXT: kb.reduce "sum" "add" "%a + %b" identity "0.0f" "v_2 - v_2"

// From a finite start no NaN comes. One thread has a row; the sums are in two branches, and in base 2.
__global__ void branches(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float top = -1e30f;
  double sum = 0.0;
  for (int j = 0; j < c; ++j) {
    float v = x[row * c + j];
    if (v > top) {
      sum = sum * exp2f((top - v) * 1.44f) + exp2f((v - v) * 1.44f);
      top = v;
    } else {
      sum += exp2f((v - top) * 1.44f);
    }
  }
  y[row] = top + logf(sum);
}
// CHECK-LABEL: kb.nest @_Z8branchesPfPKfii
// CHECK: kb.over "j" reduction
// CHECK-NEXT: kb.let "v"
// CHECK-NEXT: kb.reduce "top" "max" "%b > %a ? %b : %a" identity "-INFINITY" "v"
// CHECK-NEXT: }
// CHECK-NEXT: kb.over "j_2" reduction
// CHECK-NEXT: kb.let "v_2"
// CHECK-NEXT: kb.reduce "sum" "add" "%a + %b" identity "0.0" "exp2f((v_2 - top) * 1.44f)"
// CHECK-NEXT: }

// Lanes exchange pairs. Two lanes without elements would make NaN, so that rows shorter than a warp stay with the original.
__global__ void pairs(float *y, const float *x, int c) {
  int lane = threadIdx.x, row = blockIdx.x;
  float top = -INFINITY, sum = 0.0f, bigger;
  for (int j = lane; j < c; j += 32) {
    bigger = fmaxf(top, x[row * c + j]);
    sum = sum * expf(top - bigger) + expf(x[row * c + j] - bigger);
    top = bigger;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    float otherTop = __shfl_xor_sync(0xffffffff, top, offset), otherSum = __shfl_xor_sync(0xffffffff, sum, offset);
    if (otherTop > top) {
      sum *= expf(top - otherTop);
      top = otherTop;
    } else {
      otherSum *= expf(otherTop - top);
    }
    sum += otherSum;
  }
  for (int j = lane; j < c; j += 32)
    y[row * c + j] = expf(x[row * c + j] - top) / sum;
}
// CHECK-LABEL: kb.nest @_Z5pairsPfPKfi
// CHECK-SAME: #kb.expr<over [row] with [c] : c - 32>
// CHECK: kb.reduce "top" "max" "fmaxf(%a, %b)" identity "-INFINITY" "$0"
// CHECK: kb.reduce "sum" "add" "%a + %b" identity "0.0f" "expf($0 - top)"

// A sum of weighted terms beside the plain one.
__global__ void weighted(float *y, const float *x, const float *w, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float top = -3.0e38f, sum = 0.0f, mean = 0.0f;
  for (int j = 0; j < c; ++j) {
    float next = fmaxf(top, x[row * c + j]);
    float scale = expf(top - next), p = expf(x[row * c + j] - next);
    sum = fmaf(sum, scale, p);
    mean = mean * scale + w[j] * p;
    top = next;
  }
  y[row] = mean / sum;
}
// CHECK-LABEL: kb.nest @_Z8weightedPfPKfS1_ii
// CHECK: kb.over "j_2" reduction
// CHECK-NEXT: kb.reduce "sum" "add" {{.*}} "expf($0 - top)"
// CHECK-NEXT: kb.reduce "mean" "add" {{.*}} "$0 * expf($1 - top)"
