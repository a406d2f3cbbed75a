// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Accumulators that live in memory become scalars; a store that is loaded again, too.

// CHECK-LABEL: kb.nest @_Z4gemm
// CHECK-SAME: dims ["i", "j"]
// CHECK: kb.let "c_value" : "float" "$0 * beta"
// CHECK-NEXT: kb.over "k" reduction extent <over [i, j] with [n] : n>
// CHECK-NEXT: kb.reduce "c_value" "add" "%a + %b" identity "0.0f" "alpha * $0 * $1"
// CHECK: kb.store <element <argument "c" argument 0> : "float" bytes 4 at <over [i, j] with [n] : j + i * n>> "c_value" []
// CHECK-NEXT: }
__global__ void gemm(float *c, const float *a, const float *b, float alpha, float beta, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) {
    c[i * n + j] *= beta;
    int k;
    for (k = 0; k < n; k++)
      c[i * n + j] += alpha * a[i * n + k] * b[k * n + j];
  }
}

void run(float *c, const float *a, int n) {
  gemm<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(c, a, a, 1.0f, 2.0f, n);
}

// What a condition reads right after it was stored is known; what it guards is stored after that.
// CHECK-LABEL: kb.nest @_Z6spread
// CHECK: kb.let "[[V:s_value[_0-9]*]]" : "float" "sqrtf(
// CHECK: kb.store {{.*}} "[[V]]" []
// CHECK-NEXT: kb.when "[[V]] <= 0.1f" [] {
// CHECK-NEXT: kb.store {{.*}} "1.0f" []
__global__ void spread(float *s, const float *x, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < m) {
    s[j] = 0.0f;
    for (int i = 0; i < n; i++)
      s[j] += x[i * m + j] * x[i * m + j];
    s[j] = sqrtf(s[j]);
    if (s[j] <= 0.1f)
      s[j] = 1.0f;
  }
}

void runSpread(float *s, const float *x, int n, int m) { spread<<<(m + 255) / 256, 256>>>(s, x, n, m); }
