// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// A loop of one thread whose iterations are independent is a dimension where its length differs between points, or
// where it gives a sum a second dimension.

// The two triangles and the diagonal of a symmetric matrix are different elements as long as rows do not overlap.
// CHECK-LABEL: kb.nest @_Z10similarity
// CHECK-SAME: dims ["i", "j"]
// CHECK-SAME: : 96 - n>
// CHECK: kb.when "" [] where <over [i, j] : j == 0 exact> {
// CHECK: at <over [i, j] : i * 97>> "1.0f" []
// CHECK: kb.when "" [] where <over [i, j] : j - i >= 0 exact> {
// CHECK: kb.over "k" reduction
// CHECK: at <over [i, j, k] : i + k * 96>>
// CHECK-SAME: at <over [i, j, k] : j + k * 96 + 1>>
// CHECK: at <over [i, j] : j + i * 96 + 1>>
// CHECK: at <over [i, j] : j * 96 + i + 96>>
__global__ void similarity(float *s, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1) {
    s[i * 96 + i] = 1.0f;
    for (int j = i + 1; j < n; j++) {
      s[i * 96 + j] = 0.0f;
      for (int k = 0; k < m; k++)
        s[i * 96 + j] += x[k * 96 + i] * x[k * 96 + j];
      s[j * 96 + i] = s[i * 96 + j];
    }
  }
}

// Four elements change places; each belongs to one cycle.
// CHECK-LABEL: kb.nest @_Z6rotate
// CHECK-SAME: dims ["ring", "i"]
// CHECK: kb.when "" [] where <over [ring, i] with [n] : n - i - ring * 2 - 2 >= 0 exact> {
// CHECK-COUNT-4: kb.store
__global__ void rotate(float *a, int n) {
  int ring = blockIdx.x * blockDim.x + threadIdx.x;
  if (ring < n / 2) {
    int last = n - 1 - ring;
    for (int i = ring; i < last; ++i) {
      int from = n - 1 - i;
      float kept = a[ring * n + i];
      a[ring * n + i] = a[from * n + ring];
      a[from * n + ring] = a[last * n + from];
      a[last * n + from] = a[i * n + last];
      a[i * n + last] = kept;
    }
  }
}

// Each element needs the one before it: the loop stays with its thread.
// CHECK-LABEL: kb.nest @_Z4scan
// CHECK-SAME: dims ["i"]
// CHECK: kb.over "j" ascending
__global__ void scan(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = 0; j < i; ++j)
      a[i * 4096 + j + 1] += a[i * 4096 + j];
}

// Rows that shrink by one from one thread to the next, but are stored where the last one ended: they meet.
// CHECK-LABEL: kb.unraised @_Z7overlap
// CHECK-SAME: different threads may touch the same element of 'a'
__global__ void overlap(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = i; j < n; ++j)
      a[i + j] = j;
}

// Right of column k and below row k, column and row k themselves are only read.
// CHECK-LABEL: kb.nest @_Z9eliminate
// CHECK-SAME: : k>
__global__ void eliminate(float *a, int n, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > k && j > k && i < n && j < n)
    a[i * 4096 + j] -= a[i * 4096 + k] * a[k * 4096 + j];
}

void run(float *s, const float *x, int n) {
  similarity<<<(n + 255) / 256, 256>>>(s, x, n, n);
  rotate<<<(n + 255) / 256, 256>>>(s, n);
  scan<<<(n + 255) / 256, 256>>>(s, n);
  overlap<<<(n + 255) / 256, 256>>>(s, n);
  for (int k = 0; k < n; ++k)
    eliminate<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(s, n, k);
}
