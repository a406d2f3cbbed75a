// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes=hoist-to-launch --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: differs
// CHECK: String: {{.*}}no division in the kernel has the same value in every thread of a launch
__global__ void differs(int *x, int n, int m) { x[threadIdx.x] = (threadIdx.x + n) / m; }

// CHECK: Function: changes
// CHECK: String: {{.*}}no division in the kernel has the same value in every thread of a launch
__global__ void changes(int *x, int n, int m) {
  while (n > m)
    n = n / m;
  x[threadIdx.x] = n;
}

// CHECK: Function: loaded
// CHECK: String: {{.*}}no division in the kernel has the same value in every thread of a launch
__global__ void loaded(int *x, int n) { x[threadIdx.x + 1] = n / x[0]; }

// CHECK: Function: sideEffects
// CHECK: String: {{.*}}the host cannot compute the value at line [[#@LINE+1]] for the launch at line
__global__ void sideEffects(int *x, int n, int m) { x[threadIdx.x] = n / m; }

// CHECK: Function: fromMacro
// CHECK: String: {{.*}}the divisions come from a macro
#define HALF(n, m) ((n) / (m))
__global__ void fromMacro(int *x, int n, int m) { x[threadIdx.x] = HALF(n, m); }

// CHECK: Function: notLaunched
// CHECK: String: {{.*}}no launch of the kernel is in sight
__global__ void notLaunched(int *x, int n, int m) { x[threadIdx.x] = n / m; }

void run(int *x, int n, int m) {
  differs<<<1, 32>>>(x, n, m);
  changes<<<1, 32>>>(x, n, m);
  loaded<<<1, 32>>>(x, n);
  sideEffects<<<1, 32>>>(x, n++, m);
  fromMacro<<<1, 32>>>(x, n, m);
}
