// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// What has no raised form, and why.

// CHECK: kb.unraised @_Z7scatter{{.*}} "different threads may touch the same element of 'y'"
__global__ void scatter(float *y, const int *at, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[at[i]] = x[i];
}

// CHECK: kb.unraised @_Z7collatz{{.*}} "has a while loop: 'while (value > 1) { ...'"
__global__ void collatz(int *y, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int value = x[i], steps = 0;
  while (value > 1) {
    value = value % 2 ? 3 * value + 1 : value / 2;
    ++steps;
  }
  y[i] = steps;
}

// CHECK: kb.unraised @_Z5first{{.*}} "leaves a loop by break"
__global__ void first(int *y, const float *x, int n, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  y[i] = -1;
  for (int j = 0; j < width; ++j)
    if (x[i * width + j] > 0) {
      y[i] = j;
      break;
    }
}

// CHECK: kb.unraised @_Z7reverse{{.*}} "different threads may touch the same element of 'y'"
__global__ void reverse(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = y[n - 1 - i];
}

// CHECK: kb.unraised @_Z8spinning{{.*}} "'flag' is volatile"
__global__ void spinning(volatile int *flag, float *y) { y[threadIdx.x] = *flag; }

// CHECK: kb.unraised @_Z6shared{{.*}} "the threads of a block read 'line' in a way that is not understood"
__global__ void shared(float *y, const float *x) {
  __shared__ float line[256];
  line[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  line[threadIdx.x] += line[255 - threadIdx.x];
  y[blockIdx.x * 256 + threadIdx.x] = line[threadIdx.x];
}

void run(float *y, int *k, const float *x, int n) {
  scatter<<<(n + 255) / 256, 256>>>(y, k, x, n);
  collatz<<<(n + 255) / 256, 256>>>(k, k, n);
  first<<<(n + 255) / 256, 256>>>(k, x, n, n);
  reverse<<<(n + 255) / 256, 256>>>(y, n);
  spinning<<<1, 256>>>(k, y);
  shared<<<n / 256, 256>>>(y, x);
}
