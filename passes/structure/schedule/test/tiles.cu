// Where a launch tells the sizes, it takes large tiles where there are enough blocks for the chip, small ones where there are few, and
// single elements where sizes do not divide. What all launches are passed is known: then there is one kernel.
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s %}
// JUDGE: {{^}}correct
// Where the test is long, both tiles of 16-byte accesses share one function.
// RUN: kb-opt -passes=schedule --quiet %source_dir/bench/products/sgemm.cu | FileCheck --check-prefix=SHARED %s
// SHARED: Whether sgemmKernelTiled and sgemmKernelTiled2 compute what sgemmKernel does.
// SHARED-NOT: bool can_use_sgemmKernelTiled2
// SHARED: if (can_use_sgemmKernelTiled(c, a, b, m, n, k) && (m + 127) / 128 * ((n + 127) / 128) >= {{[0-9]+}})
// SHARED-NEXT: sgemmKernelTiled<<<
// SHARED-NEXT: else if (can_use_sgemmKernelTiled(c, a, b, m, n, k))
// SHARED-NEXT: sgemmKernelTiled2<<<
#include <cstdio>
#include <vector>

// CHECK: product_{{t}}iled(
// CHECK: BM = 128, BN = 128
// CHECK: product_{{t}}iled2(
// CHECK: product_{{t}}iled3(
// CHECK: known_{{t}}iled(
// CHECK-NOT: known_{{t}}iled2(
// CHECK: if (k % 4 == 0 && n % 4 == 0 && m > 0 && n > 0 && (size_t)a % 16 == 0 &&
// CHECK-NEXT: (m + 127) / 128 * ((n + 127) / 128) >= {{[0-9]+}})
// CHECK-NEXT: product_{{t}}iled<<<(m + 127) / 128 * ((n + 127) / 128), 128>>>
// CHECK-NEXT: else if (k % 4 == 0 && n % 4 == 0 && m > 0 && n > 0 && (size_t)a % 16 == 0)
// CHECK-NEXT: product_{{t}}iled2<<<
// CHECK-NEXT: else if (m > 0 && n > 0)
// CHECK-NEXT: product_{{t}}iled3<<<
// CHECK-NEXT: else
// CHECK-NEXT: product<<<grid, block>>>
__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}

__global__ void known(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}

void multiply(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 block(16, 16), grid((m + 15) / 16, (n + 15) / 16);
  product<<<grid, block>>>(c, a, b, m, n, k);
}

int main() {
  const int most = 4 * 25088;
  std::vector<float> x(2 * most), y(most);
  for (int i = 0; i < 2 * most; ++i)
    x[i] = (i * 37 % 101) * 0.125f - 6;
  float *a, *b, *c;
  cudaMalloc(&a, 2 * most * sizeof(float));
  cudaMalloc(&b, 2 * most * sizeof(float));
  cudaMalloc(&c, most * sizeof(float));
  cudaMemcpy(a, x.data(), 2 * most * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b, x.data(), 2 * most * sizeof(float), cudaMemcpyHostToDevice);
  // Enough blocks, few, sizes that do not divide, a single element, no terms, a pointer that is not aligned.
  int sizes[][3] = {{25088, 4, 8}, {64, 36, 20}, {33, 35, 17}, {1, 1, 1}, {40, 4, 0}};
  double sum = 0;
  for (auto &s : sizes) {
    multiply(c, a, b, s[0], s[1], s[2]);
    cudaMemcpy(y.data(), c, s[0] * s[1] * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < s[0] * s[1]; ++i)
      sum += y[i] * (i % 7 - 3);
  }
  multiply(c, a + 1, b, 32, 32, 8);
  cudaMemcpy(y.data(), c, 1024 * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 1024; ++i)
    sum += y[i] * (i % 5 - 2);
  // CHECK: known_{{t}}iled<<<
  // CHECK-NOT: known<<<
  known<<<dim3(16, 16), dim3(16, 16)>>>(c, a, b, 256, 256, 32);
  cudaMemcpy(y.data(), c, 256 * 256 * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 256 * 256; ++i)
    sum += y[i] * (i % 3 - 1);
  std::printf("%.9g\n", sum);
  return 0;
}
