// A cast to a parameter of a template is one to what it stands for, also where that has several words.
// RUN: kb-opt --quiet -passes='schedule' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// CHECK: scale_{{w}}ide
// CHECK: (unsigned char)(
// CHECK: scale_{{w}}ide{{.*}}<<<
#include <cstdio>
#include <vector>

template <typename T> __global__ void scale(T *y, const T *x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = T(by * x[i]) + T(1);
}

int main() {
  const int n = 1000;
  std::vector<unsigned char> host(n);
  for (int i = 0; i < n; ++i)
    host[i] = i % 100;
  unsigned char *x, *y;
  cudaMalloc(&x, n);
  cudaMalloc(&y, n);
  cudaMemcpy(x, host.data(), n, cudaMemcpyHostToDevice);
  scale<unsigned char><<<(n + 255) / 256, 256>>>(y, x, 1.5f, n);
  cudaMemcpy(host.data(), y, n, cudaMemcpyDeviceToHost);
  printf("%d\n", host[n - 1]);
}
