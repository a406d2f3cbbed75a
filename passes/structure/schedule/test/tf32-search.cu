// A search tries floats on the matrix units where the workload declares what differences its owner accepts, and only there. The
// arithmetic units come first, so that a refusal leaves a schedule.
// REQUIRES: sandbox, long
// RUN: rm -rf %t && mkdir %t
// RUN: echo 'program: {arguments: []}' > %t/none.yaml
// RUN: echo 'program: {arguments: []}' > %t/some.yaml
// RUN: echo 'tolerance: {relative: 1e-2, absolute: 1e-2}' >> %t/some.yaml
// RUN: %status 0,4 kb-opt -passes=auto -v --seed=1 --trajectories=1 --steps=1 --budget-candidates=2 --workload=%t/some.yaml --knowledge=%t/kb --journal=%t/j %s -o %t/out.cu 2> %t/err
// RUN: FileCheck --check-prefix=SOME %s < %t/err
// SOME: [sketch]{{.*}}core=simt
// SOME: [sketch]{{.*}}core=tf32
// RUN: %status 0,4 kb-opt -passes=auto -v --seed=1 --trajectories=1 --steps=1 --budget-candidates=2 --workload=%t/none.yaml --knowledge=%t/kb --journal=%t/j %s -o %t/out.cu 2> %t/err
// RUN: FileCheck --check-prefix=NONE %s < %t/err
// NONE-NOT: core=tf32
// NONE: [sketch]{{.*}}core=simt
// NONE-NOT: core=tf32
#include <cstdio>
#include <vector>

__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
  }
}

int main() {
  const int n = 128;
  std::vector<float> x(n * n);
  for (int i = 0; i < n * n; ++i)
    x[i] = (i * 37 % 101) * 0.0371f - 1.3f;
  float *a, *b, *c;
  cudaMalloc(&a, n * n * sizeof(float));
  cudaMalloc(&b, n * n * sizeof(float));
  cudaMalloc(&c, n * n * sizeof(float));
  cudaMemcpy(a, x.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b, x.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
  product<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(c, a, b, n, n, n);
  cudaMemcpy(x.data(), c, n * n * sizeof(float), cudaMemcpyDeviceToHost);
  float sum = 0;
  for (float each : x)
    sum += each;
  std::printf("%g\n", sum);
}
