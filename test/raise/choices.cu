// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// What is read under a condition inside an expression is read under that condition in the nest.

// CHECK-LABEL: kb.nest @_Z6padded
// CHECK: kb.let "chosen" : "float" "0.0f" []
// CHECK-NEXT: kb.when "" [] where <over [i, k] with [m, n] : i + k - m >= 0, n - i - k - 1 >= 0 exact>
// CHECK-NEXT: kb.let "chosen" : "" "$0" [{{.*}} at <over [i, k] with [m] : i + k - m>>] reassigns
// CHECK: kb.reduce "sum" "add" "%a + %b" identity "0.0f" "chosen" []
__global__ void padded(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0.0f;
  for (int k = 0; k < m; ++k)
    sum += i + k >= m && i + k < n ? x[i + k - m] : 0.0f;
  y[i] = sum;
}

// CHECK-LABEL: kb.nest @_Z6larger
// CHECK-NEXT: kb.store {{.*}} "$0 > $1 ? $2 : $3"
// Both sides are read by the condition already.
__global__ void larger(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] > x[n] ? x[i] : x[n];
}
