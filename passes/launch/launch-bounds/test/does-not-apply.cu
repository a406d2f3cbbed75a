// RUN: kb-opt -passes='launch-bounds{blocks=3}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// RUN: kb-opt -passes='launch-bounds{blocks=1 kernel=full}' --quiet --remarks-file=%t.yaml -o %t %s
// RUN: FileCheck %s --check-prefix=FULL < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: neverLaunched
// CHECK: String: no launch of the kernel is in sight
__global__ void neverLaunched(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: sizeAtRunTime
// CHECK: String: the block size at line {{[0-9]+}} is not a constant
__global__ void sizeAtRunTime(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: changes
// CHECK: String: the block size at line {{[0-9]+}} is not a constant
__global__ void changes(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: byPointer
// CHECK: String: {{.*}}the program names ''byPointer'' outside launches
__global__ void byPointer(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: bounded
// CHECK: String: {{.*}}it has launch bounds already
__global__ void __launch_bounds__(128) bounded(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: limited
// CHECK: String: the kernel has a limit of registers already
__global__ void __maxnreg__(32) limited(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: full
// CHECK: String: an SM does not hold 3 blocks of 1024 threads
// FULL: Function: full
// FULL: String: the compiler assumes blocks of 1024 threads anyway
__global__ void full(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: inInstances
// CHECK: String: {{.*}}is written once for several instances
template <int Size> __global__ void inInstances(float *x) { x[threadIdx.x] = Size; }
template <int Size> void launchSized(float *x) { inInstances<Size><<<1, Size>>>(x); }

#define KERNEL(name) __global__ void name
// CHECK: Function: inMacro
// CHECK: String: {{.*}}macro
KERNEL(inMacro)(float *x) { x[threadIdx.x] = 0; }

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(float *x) { x[threadIdx.x] = 0; } // NOKBOPT(launch-bounds)

typedef void (*Kernel)(float *);
void launchBy(Kernel kernel, float *x) { kernel<<<1, 512>>>(x); }

void run(float *x, int threads) {
  full<<<1, 1024>>>(x);
  sizeAtRunTime<<<1, threads>>>(x);
  int size = 64;
  if (threads > 100)
    size = 128;
  changes<<<1, size>>>(x);
  byPointer<<<1, 64>>>(x);
  launchBy(byPointer, x);
  bounded<<<1, 64>>>(x);
  limited<<<1, 64>>>(x);
  launchSized<64>(x);
  launchSized<128>(x);
  inMacro<<<1, 64>>>(x);
  suppressed<<<1, 64>>>(x);
}
