// RUN: kb-opt "-passes=schedule{as='rows team=128 rows=1 block=128 cache=registers chunks=8 vector=1 inflight=1 level=1 otherwise=0'}" --quiet -o %t %s
// RUN: grep -v '^ *//' %t | FileCheck %s

// Each row adds to the same elements: a block adds up over its rows, and adds to memory once.
// CHECK: gradients_{{r}}ows(
// CHECK: float dbSums[chunks] = {};
// CHECK: for (int row = blockIdx.x; row < n; row += gridDim.x) {
// CHECK: dbSums[k] += dys[k];
// CHECK-NOT: atomicAdd
// CHECK: all += w[i] * dys[k];
__global__ void gradients(float *dx, float *db, const float *dy, const float *w, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float all = 0.0f;
  for (int i = 0; i < c; ++i) {
    atomicAdd(&db[i], dy[row * c + i]);
    all += w[i] * dy[row * c + i];
  }
  for (int i = 0; i < c; ++i)
    dx[row * c + i] = dy[row * c + i] - all;
}
// CHECK: atomicAdd(&db[i{{.*}}], dbSums[k]);

// Elements that depend on the row are added to memory at once.
// CHECK: scatter_{{r}}ows(
// CHECK-NOT: Sums
// CHECK: atomicAdd(&db[
__global__ void scatter(float *dx, float *db, const float *dy, const int *to, int n, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  float all = 0.0f;
  int at = to[row];
  for (int i = 0; i < c; ++i) {
    atomicAdd(&db[at * c + i], dy[row * c + i]);
    all += dy[row * c + i];
  }
  for (int i = 0; i < c; ++i)
    dx[row * c + i] = dy[row * c + i] - all;
}

void run(float *dx, float *db, const float *dy, const float *w, const int *to, int n, int c) {
  gradients<<<(n + 63) / 64, 64>>>(dx, db, dy, w, n, c);
  scatter<<<(n + 63) / 64, 64>>>(dx, db, dy, to, n, c);
}
