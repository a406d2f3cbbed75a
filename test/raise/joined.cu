// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Digits that are put together again are the index itself, and a size may be a sum.

// CHECK-LABEL: kb.nest @_Z6groups
// CHECK: kb.over "i" reduction
// CHECK: kb.over "i_2" any
// CHECK-NEXT: kb.store {{.*}} at <over [item, group, i_2] with [{{.*}}] : i_2 + 
__global__ void groups(float *y, const float *x, int c, int g, int s) {
  int group = blockIdx.x % g, item = blockIdx.x / g, size = c / g * s;
  float sum = 0.0f;
  for (int i = 0; i < size; ++i)
    sum += x[(item * c + group * (c / g) + i / s) * s + i % s];
  for (int i = 0; i < size; ++i) {
    int at = (item * c + group * (c / g) + i / s) * s + i % s;
    y[at] = x[at] - sum;
  }
}

// CHECK-LABEL: kb.nest @_Z6window
// CHECK-SAME: dims ["b", "r", "c"]
// CHECK-SAME: : h + 1 - k>, #kb.expr<over [b, r, c] with [k, w] : w + 1 - k>]
// CHECK: kb.over "u" reduction extent <over [b, r, c] with [k] : k>
__global__ void window(float *y, const float *x, int n, int h, int w, int k) {
  int oh = h - k + 1, ow = w - k + 1, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * oh * ow)
    return;
  int c = i % ow, r = i / ow % oh, b = i / (ow * oh);
  float sum = 0.0f;
  for (int u = 0; u < k; ++u)
    sum += x[(b * h + r + u) * w + c];
  y[(b * oh + r) * ow + c] = sum;
}
