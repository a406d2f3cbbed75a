// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// The tree leaves out elements 64 to 127.
__global__ void halfATree(float *y, const float *x, int n) {
  __shared__ float part[128];
  int t = threadIdx.x;
  float s = 0.0f;
  for (int i = t; i < n; i += 128)
    s += x[blockIdx.x * n + i];
  part[t] = s;
  __syncthreads();
  for (int h = 32; h > 0; h /= 2) {
    if (t < h)
      part[t] += part[t + h];
    __syncthreads();
  }
  if (t == 0)
    y[blockIdx.x] = part[0];
}
// CHECK: kb.unraised @_Z9halfATreePfPKfi

// Offset 8 is missing.
__global__ void halfAShuffle(float *y, const float *x, int n) {
  float s = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32)
    s += x[blockIdx.x * n + i];
  s += __shfl_down_sync(0xffffffff, s, 16);
  s += __shfl_down_sync(0xffffffff, s, 4);
  s += __shfl_down_sync(0xffffffff, s, 2);
  s += __shfl_down_sync(0xffffffff, s, 1);
  if (threadIdx.x == 0)
    y[blockIdx.x] = s;
}
// CHECK: kb.unraised @_Z12halfAShufflePfPKfi

// Every thread starts with 1, so that the sum has 32 of them.
__global__ void startsWithOne(float *y, const float *x, int n) {
  float s = 1.0f;
  for (int i = threadIdx.x; i < n; i += 32)
    s += x[blockIdx.x * n + i];
  for (int h = 16; h > 0; h /= 2)
    s += __shfl_xor_sync(0xffffffff, s, h);
  y[blockIdx.x] = s;
}
// CHECK: kb.unraised @_Z13startsWithOnePfPKfi "'s' does not start with a value that changes nothing when every thread combines it"

// Only the first lane has the sum.
__global__ void sumOfTheFirst(float *y, const float *x, int n) {
  float s = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32)
    s += x[blockIdx.x * n + i];
  for (int h = 16; h > 0; h /= 2)
    s += __shfl_down_sync(0xffffffff, s, h);
  for (int i = threadIdx.x; i < n; i += 32)
    y[blockIdx.x * n + i] = s;
}
// CHECK: kb.unraised @_Z13sumOfTheFirstPfPKfi

// The maximum of the partial sums is no sum.
__global__ void mixed(float *y, const float *x, int n) {
  float s = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32)
    s += x[blockIdx.x * n + i];
  for (int h = 16; h > 0; h /= 2)
    s = fmaxf(s, __shfl_xor_sync(0xffffffff, s, h));
  if (threadIdx.x == 0)
    y[blockIdx.x] = s;
}
// CHECK: kb.unraised @_Z5mixedPfPKfi

// The threads' parts are used before they are combined.
__global__ void early(float *y, const float *x, int n) {
  float s = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32)
    s += x[blockIdx.x * n + i];
  float half = s * 0.5f;
  for (int h = 16; h > 0; h /= 2)
    s += __shfl_xor_sync(0xffffffff, s, h);
  if (threadIdx.x == 0)
    y[blockIdx.x] = s + half;
}
// CHECK: kb.unraised @_Z5earlyPfPKfi "'s' is used before the threads' parts of it are combined"

void launch(float *y, const float *x, int n) {
  halfATree<<<n, 128>>>(y, x, n);
  halfAShuffle<<<n, 32>>>(y, x, n);
  startsWithOne<<<n, 32>>>(y, x, n);
  sumOfTheFirst<<<n, 32>>>(y, x, n);
  mixed<<<n, 32>>>(y, x, n);
  early<<<n, 32>>>(y, x, n);
}
