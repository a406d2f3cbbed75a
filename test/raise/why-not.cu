// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// What has no raised form, and why.

// CHECK: kb.unraised @_Z8pipeline{{.*}} "the integer 'at_index' of each thread is used in indices"
__global__ void pipeline(float *y, const int *at, const float *x) {
  int i = threadIdx.x;
  y[at[i]] = x[i];
  __syncthreads();
  y[at[i] + 1] = x[i];
}

// CHECK: kb.unraised @_Z7endless{{.*}} "the loop 'for (;;) {{.*}}' does not end"
__global__ void endless(int *y) {
  for (;;)
    y[threadIdx.x] = 1;
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
  pipeline<<<1, 256>>>(y, k, x);
  endless<<<1, 256>>>(k);
  reverse<<<(n + 255) / 256, 256>>>(y, n);
  spinning<<<1, 256>>>(k, y);
  shared<<<n / 256, 256>>>(y, x);
}
