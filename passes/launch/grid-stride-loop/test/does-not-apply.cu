// RUN: kb-opt -passes=grid-stride-loop --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: unguarded
// CHECK: String: '''unguarded'' does not end in a body guarded by ''if (i < n)'''
__global__ void unguarded(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2.0f; }

// CHECK: Function: hasBarrier
// CHECK: String: {{.*}}shared array ''line'' ties the kernel to its block size
__global__ void hasBarrier(float *x, int n) {
  __shared__ float line[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    line[threadIdx.x] = x[i];
    __syncthreads();
    x[i] = line[255 - threadIdx.x];
  }
}

// CHECK: Function: readsGrid
// CHECK: String: the kernel reads the size of its grid
__global__ void readsGrid(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= gridDim.x;
}

// CHECK: Function: inLoop
// CHECK: String: the body returns from inside a loop
__global__ void inLoop(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < n; ++k) {
      if (x[k] > 0)
        return;
      x[i] *= 2.0f;
    }
}

// CHECK: Function: together
// CHECK: String: '''i'' is declared together with other variables'
__global__ void together(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, k = 2;
  if (i < n)
    x[i] *= k;
}

// The order in which elements get their place would change, and that of float sums.
// CHECK: Function: takesPlace
// CHECK: String: 'the order of atomics on ''count'' would change'
__global__ void takesPlace(const float *x, float *y, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[atomicAdd(count, 1)] = x[i];
}

// CHECK: Function: sumsFloats
// CHECK: String: 'the order of atomics on ''sum'' would change'
__global__ void sumsFloats(const float *x, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(sum, x[i]);
}

// CHECK: Function: waits
// CHECK: String: '''flag'' is volatile'
__global__ void waits(volatile int *flag, float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    while (flag[i] == 0) {
    }
    x[i] = 1.0f;
  }
}

// CHECK: Function: bound
// CHECK: String: 'the host cannot compute ''limit[0]'' at the launch at line {{[0-9]+}}'
__global__ void bound(float *x, const int *limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < limit[0])
    x[i] *= 2.0f;
}

// CHECK: Function: few
// CHECK: String: the launch at line {{[0-9]+}} has no more than 40 blocks already
__global__ void few(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

// CHECK: Function: inMacro
// CHECK: String: the launch at line {{[0-9]+}} stands in a macro or in another file
__global__ void inMacro(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}
#define LAUNCH(x, n) inMacro<<<(n + 63) / 64, 64>>>(x, n)

// CHECK: Function: early
// CHECK: String: the launch at line {{[0-9]+}} stands in front of the kernel
__global__ void early(float *x, int n);
void runEarly(float *x, int n) { early<<<(n + 63) / 64, 64>>>(x, n); }
__global__ void early(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

// CHECK: Function: neverLaunched
// CHECK: String: no launch of the kernel is in sight
__global__ void neverLaunched(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

int next() {
  static int calls = 0;
  return ++calls;
}
// CHECK: Function: counts
// CHECK: String: the launch at line {{[0-9]+}} has a grid that is not written where it can be seen
__global__ void counts(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2.0f;
}

void run(float *x, int *count, int n) {
  unguarded<<<n / 64, 64>>>(x);
  hasBarrier<<<(n + 255) / 256, 256>>>(x, n);
  readsGrid<<<(n + 255) / 256, 256>>>(x, n);
  inLoop<<<(n + 255) / 256, 256>>>(x, n);
  together<<<(n + 255) / 256, 256>>>(x, n);
  takesPlace<<<(n + 255) / 256, 256>>>(x, x + n, count, n);
  sumsFloats<<<(n + 255) / 256, 256>>>(x, x + n, n);
  waits<<<(n + 255) / 256, 256>>>(count, x, n);
  bound<<<(n + 255) / 256, 256>>>(x, count);
  few<<<40, 256>>>(x, n);
  LAUNCH(x, n);
  counts<<<next(), 64>>>(x, n);
}
