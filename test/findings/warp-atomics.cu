// Atomics of a warp at one address are worth a finding where the compiler does not combine them itself: not where they
// add a constant, and not where lanes may have addresses of their own.
// RUN: kb-opt --analyze %s 2>&1 | FileCheck %s
// CHECK-NOT: {{kbopt}}-warp-atomics
__global__ void counts(int *count, int *bins, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 3)
    atomicAdd(count, 1);
  if (i < n)
    atomicAdd(&bins[x[i]], 1);
}

// CHECK: warp-atomics.cu:[[#@LINE+4]]:{{.*}}the threads of a warp could combine this atomic first
__global__ void highest(int *top, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 3)
    atomicMax(top, x[i] & 1023);
}

void run(int *count, int *bins, const int *x, int n) {
  counts<<<(n + 255) / 256, 256>>>(count, bins, x, n);
  highest<<<(n + 255) / 256, 256>>>(count, x, n);
}
