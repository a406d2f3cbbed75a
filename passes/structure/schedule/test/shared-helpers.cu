// Kernels of one schedule have what they call in common: one function that multiplies for all of them.
// RUN: kb-opt -arch=sm_90 -passes=schedule --quiet -o %t.cu %s
// RUN: grep -cE '^ +asm.*mma.sync' %t.cu | FileCheck --check-prefix=ONCE %s
// RUN: grep -vE '^ *//' %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu --promise=reassociates %s -- -arch=sm_90 | FileCheck --check-prefix=JUDGED %s
// ONCE: {{^}}1{{$}}
// JUDGED: {{^}}correct
// CHECK: {{^}}{{p}}roductKernelTiledMultiply(float
// CHECK: void __launch_bounds__({{[0-9]+}}{{(, [0-9]+)?}}){{[[:space:]]+}}{{p}}roductKernelTiled(
// CHECK: {{p}}roductKernelTiledMultiply(
// CHECK: {{p}}roductKernelTiled2(
// CHECK: {{p}}roductKernelTiledMultiply(
#include <cstdio>
#include <cuda_fp16.h>
#include <vector>

__global__ void productKernel(half *c, const half *a, const half *b, int m, int n, int k) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += __half2float(a[row * k + i]) * __half2float(b[i * n + column]);
    c[row * n + column] = __float2half(sum);
  }
}

void multiply(half *c, const half *a, const half *b, int m, int n, int k) {
  productKernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(c, a, b, m, n, k);
}

int main() {
  const int most = 128 * 128;
  std::vector<half> x(most), y(most);
  for (int i = 0; i < most; ++i)
    x[i] = __float2half((i * 37 % 101) * 0.125f - 6);
  half *a, *b, *c;
  cudaMalloc(&a, most * sizeof(half));
  cudaMalloc(&b, most * sizeof(half));
  cudaMalloc(&c, most * sizeof(half));
  cudaMemcpy(a, x.data(), most * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(b, x.data(), most * sizeof(half), cudaMemcpyHostToDevice);
  double sum = 0;
  for (int size : {128, 72, 33}) {
    multiply(c, a, b, size, size, size);
    cudaMemcpy(y.data(), c, size * size * sizeof(half), cudaMemcpyDeviceToHost);
    for (int i = 0; i < size * size; ++i)
      sum += __half2float(y[i]) * (i % 7 - 3);
  }
  std::printf("%.6g\n", sum);
  return 0;
}
