// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// One thread for each output, with loops that reduce.

// CHECK-LABEL: kb.nest @_Z6matmul
// CHECK-SAME: dims ["row", "col"]
// CHECK: kb.let "sum" : "float" "0.0f" []
// CHECK: kb.over "k" reduction extent <over [row, col] with [K] : K>
// CHECK: kb.reduce "sum" "add" "%a + %b" identity "0.0f" "$0 * $1"
// CHECK: kb.store <element <argument "c" argument 0> : "float" bytes 4 at <over [row, col] with [N] : col + row * N>> "sum" []
__global__ void matmul(float *c, const float *a, const float *b, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && col < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k)
      sum += a[row * K + k] * b[k * N + col];
    c[row * N + col] = sum;
  }
}

// CHECK-LABEL: kb.nest @_Z7softmax
// CHECK-SAME: dims ["row"]
// CHECK: kb.let "top" : "float" "-INFINITY" []
// CHECK: kb.over "j" reduction
// CHECK-NEXT: kb.reduce "top" "max" "%b > %a ? %b : %a" identity "-INFINITY" "$0"
// CHECK: kb.let "sum" : "double" "0.0" []
// CHECK: kb.over "j_2" reduction
// CHECK: kb.reduce "sum" "add" "%a + %b" identity "0.0"
// CHECK: kb.over "j_3" any
// CHECK: kb.store {{.*}} "$0 / ((float)sum)"
__global__ void softmax(float *y, const float *x, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  const float *in = x + row * width;
  float *out = y + row * width;
  float top = -INFINITY;
  for (int j = 0; j < width; j++)
    if (in[j] > top)
      top = in[j];
  double sum = 0.0;
  for (int j = 0; j < width; j++) {
    out[j] = expf(in[j] - top);
    sum += out[j];
  }
  for (int j = 0; j < width; j++)
    out[j] /= (float)sum;
}

void run(float *y, const float *x, int m, int n) {
  matmul<<<dim3((n + 31) / 32, (m + 7) / 8), dim3(32, 8)>>>(y, x, x, m, n, n);
  softmax<<<(m + 255) / 256, 256>>>(y, x, m, n);
}
