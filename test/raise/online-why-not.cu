// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// Loops that look like the one in online.cu and are none: their iterations stay in order, or the threads' parts cannot be combined.

// The old sum is scaled by another base than the new terms.
__global__ void otherBase(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float top = -1e30f, sum = 0.0f;
  for (int j = 0; j < c; ++j) {
    float next = fmaxf(top, x[row * c + j]);
    sum = sum * expf(top - next) + exp2f(x[row * c + j] - next);
    top = next;
  }
  y[row] = top + logf(sum);
}
// CHECK-LABEL: kb.nest @_Z9otherBasePfPKfii
// CHECK: kb.over "j" ascending

// The old sum is not scaled at all.
__global__ void notScaled(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float top = -1e30f, sum = 0.0f;
  for (int j = 0; j < c; ++j) {
    top = fmaxf(top, x[row * c + j]);
    sum += expf(x[row * c + j] - top);
  }
  y[row] = top + logf(sum);
}
// CHECK-LABEL: kb.nest @_Z9notScaledPfPKfii
// CHECK: kb.over "j" ascending

// Of an infinite element, `1` is not exp(v - v).
__global__ void one(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float top = -INFINITY, sum = 0.0f;
  for (int j = 0; j < c; ++j) {
    float v = x[row * c + j];
    if (v > top) {
      sum = sum * expf(top - v) + 1.0f;
      top = v;
    } else {
      sum += expf(v - top);
    }
  }
  y[row] = top + logf(sum);
}
// CHECK-LABEL: kb.nest @_Z3onePfPKfii
// CHECK: kb.over "j" ascending

// The sum does not start at 0.
__global__ void startsAtOne(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float top = -1e30f, sum = 1.0f;
  for (int j = 0; j < c; ++j) {
    float before = top;
    top = fmaxf(top, x[row * c + j]);
    sum = sum * expf(before - top) + expf(x[row * c + j] - top);
  }
  y[row] = top + logf(sum);
}
// CHECK-LABEL: kb.nest @_Z11startsAtOnePfPKfii
// CHECK: kb.over "j" ascending

// The weight of a term depends on the running maximum.
__global__ void weightedByTop(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float top = -1e30f, sum = 0.0f;
  for (int j = 0; j < c; ++j) {
    float before = top;
    top = fmaxf(top, x[row * c + j]);
    sum = sum * expf(before - top) + top * expf(x[row * c + j] - top);
  }
  y[row] = top + logf(sum);
}
// CHECK-LABEL: kb.nest @_Z13weightedByTopPfPKfii
// CHECK: kb.over "j" ascending

// Each partial sum is stored.
__global__ void stored(float *y, const float *x, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float top = -1e30f, sum = 0.0f;
  for (int j = 0; j < c; ++j) {
    float before = top;
    top = fmaxf(top, x[row * c + j]);
    sum = sum * expf(before - top) + expf(x[row * c + j] - top);
    y[row * c + j] = sum;
  }
}
// CHECK-LABEL: kb.nest @_Z6storedPfPKfii
// CHECK: kb.over "j" ascending

// The threads' sums are added up although each is relative to a maximum of its own.
__global__ void notRescaled(float *y, const float *x, int c) {
  int row = blockIdx.x;
  float top = -1e30f, sum = 0.0f;
  for (int j = threadIdx.x; j < c; j += 32) {
    float before = top;
    top = fmaxf(top, x[row * c + j]);
    sum = sum * expf(before - top) + expf(x[row * c + j] - top);
  }
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (threadIdx.x == 0)
    y[row] = sum;
}
// CHECK: kb.unraised @_Z11notRescaledPfPKfi "'sum' is combined while the threads' parts are relative to maxima of their own"

// They are rescaled to the maximum of other elements.
__global__ void otherMaximum(float *y, const float *x, const float *z, int c) {
  int row = blockIdx.x;
  float top = -1e30f, sum = 0.0f, other = -1e30f;
  for (int j = threadIdx.x; j < c; j += 32) {
    float before = top;
    top = fmaxf(top, x[row * c + j]);
    sum = sum * expf(before - top) + expf(x[row * c + j] - top);
  }
  for (int j = threadIdx.x; j < c; j += 32)
    other = fmaxf(other, z[row * c + j]);
  for (int offset = 16; offset > 0; offset /= 2)
    other = fmaxf(other, __shfl_xor_sync(0xffffffff, other, offset));
  sum *= expf(top - other);
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (threadIdx.x == 0)
    y[row] = sum;
}
// CHECK: kb.unraised @_Z12otherMaximumPfPKfS1_i "'sum' is combined while the threads' parts are relative to maxima of their own"
