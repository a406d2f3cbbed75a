// A kernel of a header stays as it is; the new one stands before the function that launches it.
// RUN: kb-opt "-passes=schedule" -o %t.cu %s -- -I %S/Inputs 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s -- -I %S/Inputs | FileCheck --check-prefix=JUDGED %s %}
// REMARK: header.cu:[[#@LINE+19]]:3: remark: added 'rowSum{{R}}ows'
// REMARK: header.cu:[[#@LINE+19]]:3: remark: does not apply: no kernel can be added after 'inner::twice': it lies in a header and in a namespace
// JUDGED: {{^}}correct
#include "kernels.h"
#include <cstdio>
#include <vector>

// CHECK: static int called;
// CHECK: rowSum{{R}}ows(
// CHECK: // Launches.
// CHECK-NEXT: void run(
// CHECK: rowSum{{R}}ows<<<
// CHECK: {{^ *}}else{{$}}
// CHECK-NEXT: rowSum<<<
static int called;

// Launches.
void run(float *out, float *a, int rows, int columns) {
  ++called;
  rowSum<<<(rows + 63) / 64, 64>>>(out, a, rows, columns);
  inner::twice<<<(rows + 63) / 64, 64>>>(out, rows);
}

int main() {
  const int rows = 65, columns = 100;
  std::vector<float> host(rows * columns);
  for (int i = 0; i < rows * columns; ++i)
    host[i] = i % 9 - 4;
  float *a, *out;
  cudaMalloc(&a, host.size() * sizeof(float));
  cudaMalloc(&out, rows * sizeof(float));
  cudaMemcpy(a, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  run(out, a, rows, columns);
  run(out, a, 1, 99);
  cudaMemcpy(host.data(), out, rows * sizeof(float), cudaMemcpyDeviceToHost);
  float sum = 0;
  for (int i = 0; i < rows; ++i)
    sum += host[i] * (i + 1);
  printf("%.3f\n", sum);
}
