// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// Digits of an index become dimensions; integers that are no polynomial get a let of their own.

// CHECK-LABEL: kb.nest @_Z7permute
// CHECK-SAME: dims ["b", "t", "c"] extents [#kb.expr<over [b, t, c] with [B] : B>, #kb.expr<over [b, t, c] with [T] : T>, #kb.expr<over [b, t, c] with [C] : C>]
// CHECK: kb.store {{.*}} at <over [b, t, c] with [{{.*}}] : {{.*}} "$0" [#kb.operand<element <argument "x" argument 1>
__global__ void permute(float *y, const float *x, int B, int T, int C) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= B * T * C)
    return;
  int b = i / (T * C), rest = i % (T * C);
  int t = rest / C, c = rest % C;
  y[(b * C + c) * T + t] = x[i];
}

// Digits by subtraction.
// CHECK-LABEL: kb.nest @_Z8subtract
// CHECK-SAME: dims ["i", "j", "k"]
// CHECK: kb.store {{.*}} at <over [i, j, k] with [M, N] : k + j * M + i * (M * N)>> "chosen" []
__global__ void subtract(float *y, const float *x, const int *seq, int B, int N, int M) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= B * N * M)
    return;
  int k = index % M;
  int j = (index - k) / M % N;
  int i = (index - M * j - k) / (N * M);
  y[N * M * i + M * j + k] = seq[j] > k ? 0.0f : x[index];
}

// CHECK-LABEL: kb.nest @_Z6gather
// CHECK-SAME: #kb.symbol<"row" varying>
// CHECK: kb.let "row" : "int" "$0" [#kb.operand<element <argument "at" argument 2> : "int" bytes 4 at <over [i] : i>>]
// CHECK: kb.over "j" any
// CHECK: "$0" [#kb.operand<element <argument "x" argument 1> : "float" bytes 4 at <over [i, j] with [{{.*}}row
__global__ void gather(float *y, const float *x, const int *at, int n, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int row = at[i];
  for (int j = 0; j < width; ++j)
    y[i * width + j] = x[row * width + j];
}

// CHECK-LABEL: kb.nest @_Z8every2nd
// CHECK: kb.let "k_2" : "int" "$0 / stride" [#kb.operand<index
__global__ void every2nd(float *y, const float *x, int n, int stride, int shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int k = i - shift;
  k /= stride;
  y[i] = k >= 0 ? x[k] : 0.0f;
}

// CHECK: kb.unraised @_Z4left{{.*}} "the value of 'j' is not known"
__global__ void left(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0.0f;
  int j;
  for (j = 0; j < n; j++)
    sum += x[j];
  y[i] = sum / (float)j;
}

void run(float *y, const float *x, const int *k, int n) {
  permute<<<(n + 255) / 256, 256>>>(y, x, n, n, n);
  gather<<<(n + 255) / 256, 256>>>(y, x, k, n, n);
  every2nd<<<(n + 255) / 256, 256>>>(y, x, n, 2, 1);
  left<<<(n + 255) / 256, 256>>>(y, x, n);
}
