// RUN: kb-opt -passes='limit-registers{registers=72}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: neverLaunched
// CHECK: String: no launch of the kernel is in sight
__global__ void neverLaunched(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: tooLarge
// CHECK: String: a block of 1024 threads cannot have 72 registers each
__global__ void tooLarge(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: sizeAtRunTime
// CHECK: String: the block size at line {{[0-9]+}} is not a constant
__global__ void sizeAtRunTime(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: bounded
// CHECK: String: {{.*}}it has launch bounds already
__global__ void __launch_bounds__(128) bounded(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: limited
// CHECK: String: the kernel has a limit of registers already
__global__ void __maxnreg__(32) limited(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: byPointer
// CHECK: String: {{.*}}the program names ''byPointer'' outside launches
__global__ void byPointer(float *x) { x[threadIdx.x] = 0; }

typedef void (*Kernel)(float *);
void launchBy(Kernel kernel, float *x) { kernel<<<1, 512>>>(x); }

void run(float *x, int threads) {
  tooLarge<<<1, dim3(32, 32)>>>(x);
  sizeAtRunTime<<<1, threads>>>(x);
  bounded<<<1, 64>>>(x);
  limited<<<1, 64>>>(x);
  byPointer<<<1, 64>>>(x);
  launchBy(byPointer, x);
}
