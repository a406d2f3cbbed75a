// A scatter is scheduled on the premise that threads do not race; where they do, nothing is judged correct.
// RUN: kb-opt --quiet -passes='schedule{kernel=scatter as="map block=64"},schedule{kernel=embed as="map vector=4"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu %s | FileCheck --check-prefix=APART %s
// RUN: not kb-opt --judge=%t.cu %s -- -DWIDTH=4 | FileCheck --check-prefix=SHARED %s
// CHECK: scatter_{{.*}}<<<
// CHECK: embed_{{.*}}<<<
// APART: {{^}}correct
// SHARED-NOT: {{^}}correct
// SHARED: race-global in scatter
// SHARED-NOT: {{^}}correct
#include <cstdio>
#include <vector>
#ifndef WIDTH
#define WIDTH 1
#endif

__global__ void scatter(float *y, const int *at, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[at[i]] = x[i];
}

__global__ void embed(float *y, const int *at, const float *x, int width) {
  for (int j = threadIdx.x; j < width; j += blockDim.x)
    y[at[blockIdx.x] * width + j] = 2.0f * x[blockIdx.x * width + j];
}

int main() {
  const int n = 1024, width = 192;
  std::vector<float> host(n * width);
  std::vector<int> places(n);
  for (int i = 0; i < n * width; ++i)
    host[i] = (i * 7 % 31) - 15;
  for (int i = 0; i < n; ++i)
    places[i] = (i * 5 % n) / WIDTH;
  float *x, *y;
  int *at;
  cudaMalloc(&x, n * width * sizeof(float));
  cudaMalloc(&y, n * width * sizeof(float));
  cudaMalloc(&at, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * width * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(y, 0, n * width * sizeof(float));
  cudaMemcpy(at, places.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  scatter<<<n / 256, 256>>>(y, at, x, n);
  embed<<<n, 64>>>(y, at, x, width);
  cudaMemcpy(host.data(), y, n * width * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (float each : host)
    sum += each;
  printf("%f\n", sum);
}
