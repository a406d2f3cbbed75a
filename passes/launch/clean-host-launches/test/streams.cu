// Streams, and kernels that print: the whole file is left alone.
// RUN: kb-opt -passes=clean-host-launches --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// RUN: sed 's/, 0, stream>>>/>>>/' %s > %t.print.cu
// RUN: kb-opt -passes=clean-host-launches --quiet --remarks-file=%t.print.yaml -o %t %t.print.cu
// RUN: diff %t.print.cu %t
// RUN: FileCheck %s --check-prefix=PRINT < %t.print.yaml
// CHECK: String: the launch at line [[#]] has a stream of its own
// PRINT: String: 'kernel ''hello'' prints, and the host shows that when it waits'
#include <cstdio>
__global__ void hello() { printf("hello\n"); }
void run(cudaStream_t stream) {
  hello<<<1, 32>>>();
  cudaDeviceSynchronize();
  hello<<<1, 32, 0, stream>>>();
  cudaDeviceSynchronize();
}
