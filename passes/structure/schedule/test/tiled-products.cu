// Products that are given with tiles in shared memory, scheduled as the simple ones are: at sizes that no tile divides, of size 1 and
// without terms. Each keeps every bit.
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=32 bk=16 tm=4 tn=4 stages=2 vector=1'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
#include <cstdio>
#include <vector>

// The user's macro is no constant of a new kernel.
// CHECK: product_{{t}}iled
// CHECK: constexpr int BM_ = 32, BN = 32
// CHECK: batched_{{t}}iled
// CHECK: blocked_{{t}}iled
// CHECK: product_{{t}}iled<<<
// CHECK: blocked_{{t}}iled<<<
// CHECK: batched_{{t}}iled<<<
template <class T> __global__ void product(T *c, const T *a, const T *b, int m, int n, int k) {
  __shared__ T as[16][17], bs[16][17];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  T sum = 0;
  for (int t = 0; t < (k + 15) / 16; ++t) {
    as[ty][tx] = row < m && t * 16 + tx < k ? a[row * k + t * 16 + tx] : T(0);
    if (col < n && t * 16 + ty < k)
      bs[ty][tx] = b[(t * 16 + ty) * n + col];
    else
      bs[ty][tx] = 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n)
    c[row * n + col] = sum;
}

// Both operands transposed, a matrix for each block of the third axis; a line of threads, of which each copies several elements.
__global__ void batched(double *c, const double *a, const double *b, int m, int n, int k) {
  __shared__ double as[8][32], bs[32][9];
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32, row = blockIdx.y * 8 + ty, col = blockIdx.x * 32 + tx;
  a += (size_t)blockIdx.z * m * k;
  b += (size_t)blockIdx.z * n * k;
  double sum = 0.0;
  for (int t = 0; t < k; t += 8) {
    if (threadIdx.x < 64) {
      int r = threadIdx.x % 8, i = threadIdx.x / 8;
      as[i][r] = blockIdx.y * 8 + r < m && t + i < k ? a[(t + i) * m + blockIdx.y * 8 + r] : 0.0;
    }
    for (int e = threadIdx.x; e < 32 * 8; e += 256) {
      int q = blockIdx.x * 32 + e / 8, i = t + e % 8;
      bs[e / 8][e % 8] = q < n && i < k ? b[q * k + i] : 0.0;
    }
    __syncthreads();
    for (int i = 0; i < 8; ++i)
      sum += as[i][ty] * bs[tx][i];
    __syncthreads();
  }
  if (row < m && col < n)
    c[((size_t)blockIdx.z * m + row) * n + col] = sum;
}

#define BM 32
// Four outputs of a thread, in registers.
__global__ void blocked(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float as[BM][8], bs[8][BM];
  int t = threadIdx.x, ty = t / 16, tx = t % 16;
  float sums[2][2] = {0.0f};
  for (int k0 = 0; k0 < k; k0 += 8) {
    as[t / 8][t % 8] = blockIdx.y * BM + t / 8 < m && k0 + t % 8 < k ? a[(blockIdx.y * BM + t / 8) * k + k0 + t % 8] : 0.0f;
    bs[t / BM][t % BM] =
        blockIdx.x * BM + t % BM < n && k0 + t / BM < k ? b[(k0 + t / BM) * n + blockIdx.x * BM + t % BM] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 8; ++i)
      for (int r = 0; r < 2; ++r)
        for (int q = 0; q < 2; ++q)
          sums[r][q] += as[ty * 2 + r][i] * bs[i][tx * 2 + q];
    __syncthreads();
  }
  for (int r = 0; r < 2; ++r)
    for (int q = 0; q < 2; ++q) {
      int row = blockIdx.y * BM + ty * 2 + r, col = blockIdx.x * BM + tx * 2 + q;
      if (row < m && col < n)
        c[row * n + col] = sums[r][q];
    }
}

template <class T> void launch(T *c, const T *a, const T *b, int m, int n, int k) {
  product<T><<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(c, a, b, m, n, k);
}

void launchBlocked(float *c, const float *a, const float *b, int m, int n, int k) {
  blocked<<<dim3((n + BM - 1) / BM, (m + BM - 1) / BM), 256>>>(c, a, b, m, n, k);
}

template <class T> void runProduct(int m, int n, int k, void (*run)(T *, const T *, const T *, int, int, int)) {
  std::vector<T> a(m * k + 1), b(k * n + 1), c(m * n);
  for (int i = 0; i < m * k; ++i)
    a[i] = T(i % 7) - T(3);
  for (int i = 0; i < k * n; ++i)
    b[i] = T(i % 5) / T(2);
  T *da, *db, *dc;
  cudaMalloc(&da, a.size() * sizeof(T));
  cudaMalloc(&db, b.size() * sizeof(T));
  cudaMalloc(&dc, c.size() * sizeof(T));
  cudaMemcpy(da, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice);
  run(dc, da, db, m, n, k);
  cudaMemcpy(c.data(), dc, c.size() * sizeof(T), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (T each : c)
    sum = sum * 0.99 + double(each);
  printf("%g\n", sum);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
}

void runBatched(int m, int n, int k, int count) {
  std::vector<double> a(count * m * k), b(count * n * k), c(count * m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = int(i % 11) * 0.25 - 1;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = int(i % 13) * 0.5 - 2;
  double *da, *db, *dc;
  cudaMalloc(&da, a.size() * 8);
  cudaMalloc(&db, b.size() * 8);
  cudaMalloc(&dc, c.size() * 8);
  cudaMemcpy(da, a.data(), a.size() * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * 8, cudaMemcpyHostToDevice);
  batched<<<dim3((n + 31) / 32, (m + 7) / 8, count), 256>>>(dc, da, db, m, n, k);
  cudaMemcpy(c.data(), dc, c.size() * 8, cudaMemcpyDeviceToHost);
  double sum = 0;
  for (double each : c)
    sum = sum * 0.99 + each;
  printf("%g\n", sum);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
}

int main() {
  runProduct<float>(33, 47, 19, launch<float>);
  runProduct<float>(1, 1, 1, launch<float>);
  runProduct<float>(20, 33, 48, launch<float>);
  runProduct<float>(45, 70, 21, launchBlocked);
  runProduct<float>(1, 1, 1, launchBlocked);
  runBatched(35, 37, 21, 3);
  runBatched(1, 1, 1, 1);
}
