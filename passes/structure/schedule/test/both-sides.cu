// Sizes that divide and aligned arrays take the new kernel, also in place; an odd size, a pointer that is off by one element,
// and arrays that overlap take the original. The plan of the new program's own run shows which of them each launch took.
// RUN: kb-opt "-passes=schedule{kernel=shift as='map vector=4'},schedule{kernel=center as='rows team=8 rows=4'}" --quiet -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// RUN: kb-opt --emit=plan %t.cu | FileCheck --check-prefix=PLAN %s
// PLAN: "step":"launch","kernel":"_Z10shift_{{w}}ide
// PLAN-NEXT: "step":"launch","kernel":"_Z10shift_{{w}}ide
// PLAN-NEXT: "step":"launch","kernel":"_Z5shift
// PLAN-NEXT: "step":"launch","kernel":"_Z10shift_{{w}}ide
// PLAN-NEXT: "step":"launch","kernel":"_Z11center_{{r}}ows
// PLAN-NEXT: "step":"launch","kernel":"_Z6center
// PLAN-NEXT: "step":"read"
// CHECK: if ({{.*}} % 16 == 0)
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

__global__ void center(float *y, const float *x, int n, int m, int pitch) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) {
    float top = x[row * pitch];
    for (int k = 0; k < m; ++k)
      top = fmaxf(top, x[row * pitch + k]);
    for (int k = 0; k < m; ++k)
      y[row * pitch + k] = x[row * pitch + k] - top;
  }
}

void run(float *y, const float *x, float a, int n) {
  shift<<<(n + 63) / 64, 64>>>(y, x, a, n);
}

void runRows(float *y, const float *x, int n, int m, int pitch) {
  center<<<1, 64>>>(y, x, n, m, pitch);
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
  run(y, x, 2.0f, 333);           // new: odd size
  run(y + 1, x + 1, 3.0f, n - 4); // off by one element
  run(y, y, 4.0f, n);             // new: each point has its own element
  runRows(y, x, 9, 32, 64);      // new
  runRows(y + 32, y, 9, 32, 64); // rows of one array lie between those of the other
  cudaMemcpy(host, y, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += host[i] * (i + 1);
  printf("%.3f\n", sum);
}
