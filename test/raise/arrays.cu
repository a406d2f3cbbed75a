// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Arrays of a thread are scalars where the loops over them have few iterations.

// CHECK-LABEL: kb.nest @_Z4blur
// CHECK: kb.let "weight_2" : "float" "0.0f" []
// CHECK: kb.let "near_2" : "" "$0" [{{.*}} at <over [i] : i + 2>>] reassigns
// CHECK: kb.let "sum" : "float" "sum + (weight_2 * near_2)" [] reassigns
__global__ void blur(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float near[3], weight[3] = {0.25f, 0.5f};
  if (i >= n)
    return;
  for (int k = 0; k < 3; ++k)
    near[k] = x[i + k];
  float sum = 0.0f;
  for (int k = 0; k < 3; ++k)
    sum += weight[k] * near[k];
  y[i] = sum;
}

// CHECK-LABEL: kb.nest @_Z4sums
// CHECK: kb.over "j" reduction extent <over [i] with [m] : m>
// CHECK-NEXT: kb.reduce "acc_0" "add" "%a + %b"
// CHECK-NEXT: kb.reduce "acc_1" "add" "%a + %b"
// CHECK: kb.store {{.*}} at <over [i] : i * 2 + 1>> "acc_1" []
__global__ void sums(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float acc[2] = {};
  for (int j = 0; j < m; ++j)
    for (int k = 0; k < 2; ++k)
      acc[k] += x[(2 * i + k) * m + j];
  for (int k = 0; k < 2; ++k)
    y[2 * i + k] = acc[k];
}

// CHECK: kb.nest @_Z9histogramPiPKii
// CHECK: kb.let "count" : "int[4]" "" []
__global__ void histogram(int *y, const int *x, int n) {
  int count[4] = {};
  for (int i = 0; i < n; ++i)
    count[x[i]]++;
  y[threadIdx.x] = count[0];
}
