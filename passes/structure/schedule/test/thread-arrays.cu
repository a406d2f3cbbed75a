// Arrays of a thread with an index that data decides, or with many elements, stay arrays.
// RUN: kb-opt --emit=kb-nest %s | FileCheck --check-prefix=NEST %s
// RUN: kb-opt --quiet -passes='schedule{kernel=largest as="map block=64"},schedule{kernel=table as="map vector=4"},schedule{kernel=counts as="map"},schedule{kernel=insertion as="map vector=2"},schedule{kernel=until as="map"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// NEST: kb.nest @_Z7largest
// NEST: kb.let "w" : "double[21]" "" []
// NEST: kb.over "k" ascending
// NEST: kb.let "w[place]" : "" "$0 + $1" {{.*}} reassigns
// NEST: kb.nest @_Z5table
// NEST: kb.let "weights" : "int[8]" "{3, 1, 4, 1, 5, 9, 2, 6}" []
// NEST: kb.nest @_Z6counts
// NEST: kb.over "at" ascending extent <{{.*}} : 100>
// NEST: kb.nest @_Z9insertion
// CHECK: double w[21];
// CHECK: w[place] = alphas[
// CHECK: int weights[8] = {3, 1, 4, 1, 5, 9, 2, 6};
// CHECK: int seen[100];
// CHECK: float v[8];
#include <cstdio>
#include <vector>
__global__ void largest(int *out, const double *alphas, const double *rands, int n, int K, int M) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double w[21];
  if (i < n) {
    int best = 0;
    for (int m = 0; m < M; m++) {
      for (int k = 0; k < K; k++) w[k] = alphas[i * K + k] + rands[m * K + k];
      double top = w[K - 1]; int at = K - 1;
      for (int k = 0; k < K - 1; k++) if (w[k] > top) { top = w[k]; at = k; }
      best += at;
    }
    out[i] = best;
  }
}
__global__ void table(int *out, const int *x, int n) {
  const int weights[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  const char letters[] = "ABCDEFGH";
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = weights[x[i] & 7] * 100 + letters[x[i] % 8];
}
__global__ void counts(int *out, const int *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int seen[100] = {0};
  for (int j = 0; j < m; ++j) seen[x[i * m + j] % 100]++;
  int most = 0;
  for (int k = 0; k < 100; ++k) most = seen[k] > most ? seen[k] : most;
  out[i] = most;
}
__global__ void insertion(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v[8];
  for (int k = 0; k < 8; ++k) v[k] = x[i * 8 + k];
  for (int k = 1; k < 8; ++k) {
    float key = v[k];
    int j = k - 1;
    while (j >= 0 && v[j] > key) { v[j + 1] = v[j]; j--; }
    v[j + 1] = key;
  }
  for (int k = 0; k < 8; ++k) out[i * 8 + k] = v[k];
}
// The thread returns within the loop that fills its array.
__global__ void until(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v[4];
  for (int k = 0; k < 4; ++k) {
    v[k] = x[i * 8 + k];
    if (v[k] > 700.0f)
      return;
    y[i * 8 + k] = 2.0f * v[k];
  }
}
int main() {
  const int n = 1000, m = 60;
  std::vector<float> x(n * 8);
  std::vector<double> d(n * 21);
  std::vector<int> k(n * m), out(n);
  for (int i = 0; i < n * 8; ++i)
    x[i] = i * 7919 % 1013;
  for (int i = 0; i < n * 21; ++i)
    d[i] = (i * 31 % 257) / 8.0;
  for (int i = 0; i < n * m; ++i)
    k[i] = i * 7919 % 4001;
  float *dx, *dy;
  double *dd;
  int *dk, *o;
  cudaMalloc(&dx, n * 8 * sizeof(float));
  cudaMalloc(&dy, n * 8 * sizeof(float));
  cudaMalloc(&dd, n * 21 * sizeof(double));
  cudaMalloc(&dk, n * m * sizeof(int));
  cudaMalloc(&o, n * sizeof(int));
  cudaMemcpy(dx, x.data(), n * 8 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dd, d.data(), n * 21 * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(dk, k.data(), n * m * sizeof(int), cudaMemcpyHostToDevice);
  long long sum = 0;
  auto add = [&] {
    cudaMemcpy(out.data(), o, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (int each : out)
      sum = sum * 31 + each;
    printf("%lld\n", sum);
  };
  largest<<<4, 256>>>(o, dd, dd, n, 21, 5);
  add();
  table<<<4, 256>>>(o, dk, n);
  add();
  counts<<<4, 256>>>(o, dk, n, m);
  add();
  insertion<<<4, 256>>>(dy, dx, n);
  cudaMemcpy(x.data(), dy, n * 8 * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f %f\n", x[8], x[15]);
  until<<<4, 256>>>(dy, dx, n);
  cudaMemcpy(x.data(), dy, n * 8 * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", x[9]);
}
