// Loops that data ends compute the same on another schedule: they are left where they were, by a break where nothing else asks.
// RUN: kb-opt --quiet -passes='schedule{kernel=mandel as="map block=64"},schedule{kernel=search as="map block=64"},schedule{kernel=first as="map"},schedule{kernel=newton as="map"},schedule{kernel=calls as="map"},schedule{kernel=early as="map block=128"},schedule{kernel=rowsUntil as="rows team=32 vector=1"},schedule{kernel=halving as="map"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// CHECK: mandel_{{.*}}(int
// CHECK: while (true) {
// CHECK-NEXT: if (!(n < most && zr * zr + zi * zi < 4.0f))
// CHECK-NEXT: break;
// CHECK: first_{{.*}}(int
// CHECK: for (int c = 0; c < cols; ++c) {
// CHECK-NEXT: if (
// CHECK-NEXT: found = c;
// CHECK-NEXT: break;
// CHECK: early_{{.*}}(int
// CHECK: for (int a = 0; a < cols && stays; ++a)
// CHECK: {{r}}owsUntilRows(int
// CHECK: while (runs) {
// CHECK: __shfl
__global__ void mandel(int *out, float x0, float dx, int w, int h, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float cr = x0 + x * dx, ci = x0 + y * dx, zr = 0, zi = 0;
  int n = 0;
  while (n < most && zr * zr + zi * zi < 4.0f) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    n++;
  }
  out[y * w + x] = n;
}
__global__ void search(int *at, const float *keys, const float *sorted, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int lo = 0, hi = m;
  float key = keys[i];
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (sorted[mid] < key) lo = mid + 1; else hi = mid;
  }
  at[i] = lo;
}
__global__ void first(int *at, const float *m, float limit, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    int found = -1;
    for (int c = 0; c < cols; ++c) {
      if (m[r * cols + c] > limit) { found = c; break; }
    }
    at[r] = found;
  }
}
__global__ void newton(double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    double v = x[i], old; int it = 0;
    do { old = v; v = 0.5 * (v + x[i] / v); } while (++it < 20 && fabs(v - old) > 1e-9);
    x[i] = v;
  }
}
__device__ int firstAbove(const float *row, int n, float limit) {
  for (int k = 0; k < n; k++) if (row[k] > limit) return k;
  return -1;
}
__global__ void calls(int *out, const float *m, int rows, int cols, float limit) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) out[r] = firstAbove(m + r * cols, cols, limit);
}
__global__ void early(int *out, const int *m, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int a = 0; a < cols; a++)
    for (int b = 0; b < a; b++)
      if (m[r * cols + a] == m[r * cols + b]) { out[r] = 1; return; }
  out[r] = 0;
}
// A sum of a row for each turn, until it is small.
__global__ void rowsUntil(int *out, const int *m, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  int shift = 0, sum = 1 << 30;
  while (sum > 4) {
    sum = 0;
    for (int c = 0; c < cols; ++c)
      sum += (m[r * cols + c] & 255) >> shift;
    shift++;
  }
  out[r] = sum * 10 + shift;
}
// Changes in conditions and indices.
__global__ void halving(int *out, const int *m, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  int k = 64, place = 0, count = 0;
  while (k >>= 1) {
    int next = place | k;
    if (next < cols && m[r * cols + next] > m[r * cols + place])
      place = next;
    count++;
  }
  int last = place++;
  out[r] = last * 100 + place + count;
}
#include <cstdio>
#include <vector>
int main() {
  const int n = 4096, m = 1000, rows = 3000, cols = 60;
  std::vector<float> keys(n), sorted(m), mat(rows * cols); std::vector<double> x(n); std::vector<int> ints(rows * 20);
  for (int i = 0; i < n; i++) { keys[i] = (i * 37 % 1013) * 0.97f; x[i] = 1 + i % 91; }
  for (int i = 0; i < m; i++) sorted[i] = i * 1.0f;
  for (int i = 0; i < rows * cols; i++) mat[i] = (i * 7919 % 1000) / 1000.0f;
  for (int i = 0; i < rows * 20; i++) ints[i] = i * 7919 % 133;
  float *dk, *ds, *dm; double *dx; int *di, *o;
  cudaMalloc(&dk, n * 4); cudaMalloc(&ds, m * 4); cudaMalloc(&dm, rows * cols * 4); cudaMalloc(&dx, n * 8); cudaMalloc(&di, rows * 80); cudaMalloc(&o, 128 * 96 * 4);
  cudaMemcpy(dk, keys.data(), n * 4, cudaMemcpyHostToDevice); cudaMemcpy(ds, sorted.data(), m * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dm, mat.data(), rows * cols * 4, cudaMemcpyHostToDevice); cudaMemcpy(dx, x.data(), n * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(di, ints.data(), rows * 80, cudaMemcpyHostToDevice);
  std::vector<int> h(128 * 96); long long sum = 0;
  auto add = [&](int k) { cudaMemcpy(h.data(), o, k * 4, cudaMemcpyDeviceToHost); for (int i = 0; i < k; i++) sum = sum * 31 + h[i]; printf("%lld\n", sum); };
  mandel<<<dim3(8, 12), dim3(16, 8)>>>(o, -1.5f, 0.02f, 128, 96, 100); add(128 * 96);
  search<<<16, 256>>>(o, dk, ds, n, m); add(n);
  first<<<12, 256>>>(o, dm, 0.98f, rows, cols); add(rows);
  newton<<<16, 256>>>(dx, n);
  cudaMemcpy(x.data(), dx, n * 8, cudaMemcpyDeviceToHost); printf("%f\n", x[77]);
  calls<<<12, 256>>>(o, dm, rows, cols, 0.97f); add(rows);
  early<<<12, 256>>>(o, di, rows, 20); add(rows);
  rowsUntil<<<12, 256>>>(o, di, rows, 20); add(rows);
  cudaMemcpy(mat.data(), dm, rows * 4, cudaMemcpyDeviceToHost);
  printf("%f\n", mat[5]);
  halving<<<12, 256>>>(o, di, rows, 20); add(rows);
}
