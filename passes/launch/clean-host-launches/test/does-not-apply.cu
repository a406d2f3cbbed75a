// One function per reason for which the pass does not apply.
// RUN: kb-opt -passes=clean-host-launches --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed
#include <cstdio>
#include <cstdlib>

__global__ void add(float *x, float a) { x[threadIdx.x] += a; }

// CHECK: String: no cudaDeviceSynchronize stands alone between this launch and the next one
#define CHECK_CUDA(call)                                                                           \
  do {                                                                                             \
    if (cudaError_t error = (call))                                                                \
      exit(error);                                                                                 \
  } while (0)
void checked(float *x) {
  add<<<1, 256>>>(x, 1);
  CHECK_CUDA(cudaDeviceSynchronize());
  add<<<1, 256>>>(x, 1);
}

// CHECK: String: the host may read results at line [[#@LINE+7]]
// CHECK: String: no cudaDeviceSynchronize stands alone between this launch and the next one
// CHECK: String: no cudaDeviceSynchronize stands alone between this launch and the next one
void managed(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    add<<<1, 256>>>(x, i);
    cudaDeviceSynchronize();
    if (x[0] > 5)
      add<<<1, 256>>>(x, 2);
    add<<<1, 256>>>(x, 1);
  }
}

// CHECK: String: the host may read results at line [[#@LINE+4]]
void timed(float *x, cudaEvent_t stop) {
  add<<<1, 256>>>(x, 1);
  cudaDeviceSynchronize();
  cudaEventRecord(stop);
  cudaDeviceSynchronize();
}

// The launch itself reads memory that the kernel before may have written.
// CHECK: String: the host may read results at line [[#@LINE+5]]
// CHECK: String: the function returns after the wait, and its caller may read results
void argument(float *x) {
  add<<<1, 256>>>(x, 1);
  cudaDeviceSynchronize();
  add<<<1, 256>>>(x, x[0]);
  cudaDeviceSynchronize();
}

// CHECK: String: the host may read results at line [[#@LINE+5]]
void printed(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    add<<<1, 256>>>(x, 1);
    cudaDeviceSynchronize();
    printf("%d\n", i);
  }
}

// CHECK: String: the loop at line [[#@LINE+2]] is left early
void early(int n) {
  for (int i = 0; i < n; ++i) {
    float *x;
    cudaMalloc(&x, 1024);
    if (i == 7)
      break;
    add<<<1, 256>>>(x, 1);
    cudaFree(x);
  }
}

// CHECK: String: 'the size of ''x'' may differ between iterations'
void grows(int n) {
  for (int i = 0; i < n; ++i) {
    int size = 1024 * i;
    float *x;
    cudaMalloc(&x, size);
    add<<<1, 256>>>(x, 1);
    cudaFree(x);
  }
}

// CHECK: String: '''x'' is also set elsewhere in the loop'
void moved(float *y, int n) {
  for (int i = 0; i < n; ++i) {
    float *x;
    cudaMalloc(&x, 1024);
    x = x + 1;
    add<<<1, 128>>>(x, 1);
    cudaFree(x);
  }
}

// CHECK: String: 'another variable is called ''x'''
void twice(float *y, int n) {
  for (int i = 0; i < n; ++i) {
    float *x;
    cudaMalloc(&x, 1024);
    add<<<1, 128>>>(x, 1);
    cudaFree(x);
  }
  int x = 3;
}

// cudaFree waits, and the host reads.
// CHECK: String: the host may read results at line [[#@LINE+7]], which cudaFree waits for
void freed(float *managed, int n) {
  for (int i = 0; i < n; ++i) {
    float *x;
    cudaMalloc(&x, 1024);
    add<<<1, 128>>>(managed, 1);
    cudaFree(x);
    n += managed[0];
  }
}
