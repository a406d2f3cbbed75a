// A product and a product with a triangle, at sizes that no tile divides, keep every bit.
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=64 bk=16 tm=4 tn=4 stages=2 vector=1'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=64 bk=32 tm=4 tn=4 stages=3 vector=4'}" --quiet -o %t.async.cu %s
// RUN: %code %t.async.cu | FileCheck --check-prefix=ASYNC %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.async.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
#include <algorithm>
#include <cstdio>
#include <vector>

// CHECK: __global__ void product(
// CHECK: {{p}}roduct_tiled(
// CHECK: sums[u][j] += ARegs[slot][u] * BRegs[slot][j];
// CHECK: C[col + (size_t)row * n] = fmaxf(sum, bias[col]);
// ASYNC: __pipeline_memcpy_async(&ATile[stage]
__global__ void product(float *C, const float *A, const float *B, const float *bias, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m && col < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = fmaxf(sum, bias[col]);
  }
}

// CHECK: const int kFull = i0 + 1;
// CHECK: if (isEdge && k >= i + 1)
__global__ void triangle(float *out, const float *a, const float *b, int n, int m) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < m) {
    float s = out[i * m + j];
    for (int k = 0; k <= i; ++k)
      s += a[i * n + k] * b[k * m + j];
    out[i * m + j] = s;
  }
}

int main() {
  int sizes[][3] = {{70, 45, 19}, {36, 68, 40}, {1, 1, 1}};
  for (auto &[m, n, k] : sizes) {
    std::vector<float> data(m * k + k * n + m * n + m * m + n);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = float(i * 7919 % 1000) / 500 - 1;
    float *A, *B, *C, *D;
    cudaMalloc(&A, m * k * 4);
    cudaMalloc(&B, (k + m) * n * 4);
    cudaMalloc(&C, m * n * 4);
    cudaMalloc(&D, (m * m + n) * 4);
    cudaMemcpy(A, data.data(), m * k * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(B, data.data() + m * k, (k + m) * n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(D, data.data(), (m * m + n) * 4, cudaMemcpyHostToDevice);
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    product<<<grid, block>>>(C, A, B, D, m, n, k);
    triangle<<<grid, block>>>(C, D, B, m, std::min(n, k));
    std::vector<float> c(m * n);
    cudaMemcpy(c.data(), C, m * n * 4, cudaMemcpyDeviceToHost);
    double total = 0;
    for (float x : c)
      total += x;
    printf("%d %d %d %.9g\n", m, n, k, total);
  }
}
