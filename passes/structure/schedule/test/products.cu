// Products in several forms, at sizes that no tile divides, of size 1 and without terms, from pointers that are not aligned: one schedule
// keeps every bit, and one whose warps share out the terms of a tile only changes their order.
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=32 bk=32 tm=4 tn=4 stages=3 vector=4'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=32 bk=32 tm=4 tn=4 stages=3 vector=4 split=4'}" --quiet -o %t.split.cu %s
// RUN: %code %t.split.cu | FileCheck --check-prefix=SPLIT %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.split.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
#include <cstdio>
#include <vector>

// The pointer of a thread moves on by a tile; nothing past the end is copied.
// CHECK: {{p}}roduct_tiled(
// CHECK: if (ATerm < left)
// CHECK-NEXT: __pipeline_memcpy_async(&ATile[stage][ARow + chunk * AApart][ATerm], AFrom[chunk], 16);
// CHECK-NEXT: AFrom[chunk] += BK;
// CHECK: BFrom += BK * (size_t)n;
// SPLIT: {{p}}roduct_tiled(
// SPLIT: sumParts[part - 1][u][j][place] = sums[u][j];
// SPLIT: C[row * n + col]
__global__ void product(float *C, const float *A, const float *B, float alpha, float beta, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = alpha * sum + beta * C[row * n + col];
  }
}

// CHECK: {{t}}imes_transposed_tiled(
// SPLIT: if (part > 0)
__global__ void times_transposed(float *C, const float *A, const float *B, const float *bias, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    float sum = bias[col];
    for (int i = 0; i < k; ++i)
      sum += A[row * k + i] * B[col * k + i];
    C[row * n + col] = sum > 0 ? sum : 0.1f * sum;
  }
}

// CHECK: {{t}}ransposed_times_tiled(
__global__ void transposed_times(double *C, const double *A, const double *B, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    double sum = 0;
    for (int i = 0; i < k; ++i)
      sum += A[i * m + row] * B[i * n + col];
    C[row * n + col] = sum;
  }
}

// CHECK: {{b}}atched_tiled(
__global__ void batched(float *C, const float *A, const float *B, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, b = blockIdx.z;
  if (row < m && col < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += A[(b * m + row) * k + i] * B[(b * k + i) * n + col];
    C[(b * m + row) * n + col] = sum;
  }
}

template <class T> T *make(size_t n, int seed) {
  std::vector<T> h(n);
  for (size_t i = 0; i < n; ++i)
    h[i] = T((i * 7919 + seed * 131) % 1000) / 500 - 1;
  T *d;
  cudaMalloc(&d, (n + 1) * sizeof(T));
  cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

template <class T> double total(T *d, size_t n) {
  std::vector<T> h(n);
  cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += h[i] * (1 + i % 7);
  return sum;
}

int main() {
  int sizes[][3] = {{70, 45, 19}, {36, 68, 40}, {1, 1, 1}, {72, 36, 64}, {5, 64, 0}};
  for (auto &[m, n, k] : sizes) {
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    float *A = make<float>(m * k * 2 + 1, 1), *B = make<float>(k * n * 2 + 1, 2), *C = make<float>(m * n * 2 + 1, 3), *bias = make<float>(n, 5);
    double *a = make<double>(m * k, 1), *b = make<double>(k * n, 2), *c = make<double>(m * n, 3);
    product<<<grid, block>>>(C, A, B, 0.5f, 2.0f, m, n, k);
    product<<<grid, block>>>(C + 1, A + 1, B + 1, 0.5f, 2.0f, m, n, k);
    printf("%.5g ", total(C, m * n + 1));
    times_transposed<<<grid, block>>>(C, A, B, bias, m, n, k);
    printf("%.5g ", total(C, m * n));
    transposed_times<<<grid, block>>>(c, a, b, m, n, k);
    printf("%.5g ", total(c, m * n));
    batched<<<dim3(grid.x, grid.y, 2), block>>>(C, A, B, m, n, k);
    printf("%.5g\n", total(C, m * n * 2));
  }
}
