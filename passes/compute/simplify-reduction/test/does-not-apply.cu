// What is not certain to be the same sum stays as it is, with the reason.
// RUN: kb-opt -passes=simplify-reduction -o %t.cu %s 2>&1 | FileCheck %s
// RUN: grep -v '^ *//' %t.cu | FileCheck --check-prefix=TEXT %s
// TEXT-NOT: _rows
// CHECK: remark: does not apply: it sums elements of 'y', which it also stores [simplify-reduction, site 1]
// CHECK: remark: does not apply: no sum has a factor {{.*}} [simplify-reduction, site 2]
// CHECK: remark: does not apply: no sum has a factor {{.*}} [simplify-reduction, site 3]
// CHECK: remark: does not apply: not every sum is needed by a point [simplify-reduction, site 4]
// CHECK: remark: does not apply: no sum has a factor {{.*}} [simplify-reduction, site 5]
// CHECK: remark: does not apply: it forms no sum [simplify-reduction, site 6]
// CHECK: remark: does not apply: no sum has a factor {{.*}} [simplify-reduction, site 7]
// The buffer that is summed is also stored to.
__global__ void stored(float *y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0.0f;
    for (int k = 0; k < m; k++)
      s += 2.0f * y[i * m + k];
    y[i * m] = s;
  }
}
// The indicator is inside a function.
__global__ void curved(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0.0f;
    for (int k = 0; k < m; k++)
      s += expf((k == i ? 1.0f : 0.0f) + x[i * m + k]);
    y[i] = s;
  }
}
// One number is a double, so that products are formed in double.
__global__ void promoted(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0.0f;
    for (int k = 0; k < m; k++)
      s += 0.1 * x[i * m + k];
    y[i] = s;
  }
}
// The sum of a row whose elements are not stored would read what nobody reads.
__global__ void parted(float *y, const float *x, int n, int m, int from, int to) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && j < m && j >= from && j < to) {
    float s = 0.0f;
    for (int k = 0; k < m; k++)
      s += x[row * m + k];
    y[row * m + j] = x[row * m + j] / s;
  }
}
// The indicator compares elements.
__global__ void matching(float *y, const float *x, const int *labels, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0.0f;
    for (int k = 0; k < m; k++)
      s += (labels[k] == labels[i] ? 1.0f : 0.0f) * x[i * m + k];
    y[i] = s;
  }
}
__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}
// One sum for all points: there would be no row left.
__global__ void whole(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0.0f;
    for (int k = 0; k < n; k++)
      s += x[k];
    y[i] = x[i] / s;
  }
}
void run(float *y, const float *x, const int *labels, int n, int m) {
  stored<<<(n + 63) / 64, 64>>>(y, n, m);
  curved<<<(n + 63) / 64, 64>>>(y, x, n, m);
  promoted<<<(n + 63) / 64, 64>>>(y, x, n, m);
  parted<<<dim3((m + 15) / 16, (n + 3) / 4), dim3(16, 4)>>>(y, x, n, m, 3, m - 2);
  matching<<<(n + 63) / 64, 64>>>(y, x, labels, n, m);
  scale<<<(n + 63) / 64, 64>>>(y, x, 2.0f, n);
  whole<<<(n + 63) / 64, 64>>>(y, x, n);
}
