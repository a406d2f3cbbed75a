// RUN: kb-opt -passes=specialize-constants --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// RUN: kb-opt -passes='specialize-constants{parameter=nothing}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: FileCheck %s --check-prefix=NAME < %t.yaml
// RUN: kb-opt -passes='specialize-constants{value=4}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: FileCheck %s --check-prefix=VALUE < %t.yaml
// RUN: kb-opt -passes='specialize-constants{parameter=n}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: FileCheck %s --check-prefix=GUARD < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: neverLaunched
// CHECK: String: no launch of the kernel is in sight
__global__ void neverLaunched(float *x, int n) { x[threadIdx.x * n] = 0; }

// CHECK: Function: guardOnly
// CHECK: String: no launch shows a constant for an integer argument that loops, products or branches depend on
// NAME: Function: guardOnly
// NAME: String: {{.*}}the kernel has no parameter ''nothing''
// VALUE: Function: guardOnly
// VALUE: String: value is given without a parameter
// GUARD: Function: guardOnly
// GUARD: String: 'nothing but a guard depends on ''n'''
__global__ void guardOnly(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = 0;
}

// CHECK: Function: differs
// CHECK: String: '''width'' is 3 at one launch and 5 at another'
__global__ void differs(float *x, int width) { x[threadIdx.x * width] = 0; }

// CHECK: Function: workload
// CHECK: String: 'the 100000 of ''width'' is the size of a workload rather than a property of the program'
__global__ void workload(float *x, int width) { x[threadIdx.x * width] = 0; }

// CHECK: Function: atRunTime
// CHECK: String: no launch shows a constant
__global__ void atRunTime(float *x, int width) { x[threadIdx.x * width] = 0; }

// CHECK: Function: inMacro
// CHECK: String: the launch at line {{[0-9]+}} stands in a macro or in another file
__global__ void inMacro(float *x, int width) { x[threadIdx.x * width] = 0; }
#define LAUNCH(x) inMacro<<<1, 32>>>(x, 3)

// CHECK: Function: keepsState
// CHECK: String: '''calls'' lives as long as the program, so that two kernels cannot share it'
__global__ void keepsState(int *x, int width) {
  static int calls = 0;
  x[threadIdx.x * width] = atomicAdd(&calls, 1);
}

// CHECK: Function: muchShared
// CHECK: String: {{.*}}may need more than 48 KB of shared memory, which the host asks for by the kernel''s name
__global__ void muchShared(float *x, int width) {
  extern __shared__ float row[];
  row[threadIdx.x] = x[threadIdx.x * width];
  __syncthreads();
  x[threadIdx.x * width] = row[threadIdx.x ^ 1];
}

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(float *x, int width) { x[threadIdx.x * width] = 0; } // NOKBOPT

// A fallback is left as it is.
// CHECK: Function: dispatched
// CHECK: String: the launch at line {{[0-9]+}} is the fallback of another kernel already
__global__ void dispatchedWide(float *x) { x[threadIdx.x * 16] = 0; }
__global__ void dispatched(float *x, int width) { x[threadIdx.x * width] = 0; }
void runDispatched(float *x, int width) {
  if (width == 16)
    dispatchedWide<<<1, 32>>>(x);
  else
    dispatched<<<1, 32>>>(x, width);
}

void run(float *x, int *state, int n, int width) {
  guardOnly<<<1, 32>>>(x, 100);
  differs<<<1, 32>>>(x, 3);
  differs<<<1, 32>>>(x, 5);
  workload<<<1, 32>>>(x, 100000);
  atRunTime<<<1, 32>>>(x, width);
  LAUNCH(x);
  keepsState<<<1, 32>>>(state, 3);
  cudaFuncSetAttribute(muchShared, cudaFuncAttributeMaxDynamicSharedMemorySize, n * 4);
  muchShared<<<1, 32, n * 4>>>(x, 3);
  suppressed<<<1, 32>>>(x, 3);
  runDispatched(x, 8);
}
