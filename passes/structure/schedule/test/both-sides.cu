// Sizes that divide and aligned arrays take the new kernel; an odd size, a pointer that is off by one element,
// and arrays that overlap take the original.
// RUN: kb-opt "-passes=schedule{as='map vector=4'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: correct
// CHECK: if (n % 4 == 0 && {{.*}} % 16 == 0)
// CHECK-NEXT: shift_{{w}}ide<<<
// CHECK-NEXT: else
// CHECK-NEXT: shift<<<
#include <cstdio>
#include <cstdlib>

__global__ void shift(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + a;
}

void run(float *y, const float *x, float a, int n) {
  shift<<<(n + 63) / 64, 64>>>(y, x, a, n);
}

int main() {
  const int n = 1000;
  float *x, *y, *host = (float *)malloc(2 * n * sizeof(float));
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i)
    host[i] = i % 17;
  cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(y, 0, n * sizeof(float));
  run(y, x, 1.0f, n);             // new
  run(y, x, 2.0f, 333);           // odd size
  run(y + 1, x + 1, 3.0f, n - 4); // off by one element
  run(y, y, 4.0f, n);             // in place
  cudaMemcpy(host, y, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += host[i] * (i + 1);
  printf("%.3f\n", sum);
}
