// Threads that nothing orders do not share elements that one of them stores to: the kernel would race. The nest says that it rests on that.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s

// CHECK: kb.nest @_Z7scatter{{.*}} requires [{{.*}}] racefree ["y"] {
__global__ void scatter(float *y, const int *at, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[at[i]] = x[i];
}

// Each thread goes over elements one by one: they may be the same ones, as long as every thread has but one.
// CHECK: kb.nest @_Z7strided{{.*}} requires [{{.*}}bdim.x * gdim.x - n{{.*}}] racefree ["y"] {
__global__ void strided(float *y, const int *at, const float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[at[i]] = x[i];
}

// A stride that is an argument: a condition shows that columns are apart.
// CHECK: kb.nest @_Z7columns{{.*}} requires [{{.*}}stride - n>] {
__global__ void columns(float *y, const float *x, int n, int rows, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int r = 0; r < rows; ++r)
      y[i + r * stride] = x[i * rows + r];
}

// One row for each block, at a place that is loaded.
// CHECK: kb.nest @_Z5embed{{.*}} racefree ["y"] {
__global__ void embed(float *y, const int *at, const float *x, int width) {
  for (int j = threadIdx.x; j < width; j += blockDim.x)
    y[at[blockIdx.x] + j] = x[blockIdx.x * width + j];
}

// A thread computes several points, which may share elements in their order.
// CHECK: kb.unraised @_Z5tiled{{.*}} "different threads may touch the same element of 'y'"
__global__ void tiled(float *y, const int *at, const float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 4; ++k)
    y[at[4 * i + k]] = x[4 * i + k];
}

// A barrier orders threads of a block.
// CHECK: kb.unraised @_Z7ordered{{.*}} "
__global__ void ordered(float *y, const int *at, const float *x) {
  __shared__ float part[256];
  part[threadIdx.x] = x[threadIdx.x];
  y[at[threadIdx.x]] = 1;
  __syncthreads();
  y[at[threadIdx.x + 256]] = part[255 - threadIdx.x];
}

// Whatever n is, threads read what others store.
// CHECK: kb.unraised @_Z7reverse{{.*}} "different threads may touch the same element of 'y'"
__global__ void reverse(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = y[n - 1 - i];
}

// Columns of threads in one block, which a barrier orders.
// CHECK: kb.unraised @_Z5lines{{.*}} "different threads may touch the same element of 'y'"
__global__ void lines(float *y, const int *at, const float *x, int n) {
  __shared__ float part[32][33];
  float s = 0;
  for (int j = threadIdx.y; j < n; j += 32)
    s += x[j * 32 + threadIdx.x];
  part[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  for (int h = 16; h > 0; h /= 2) {
    if (threadIdx.y < h)
      part[threadIdx.y][threadIdx.x] += part[threadIdx.y + h][threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.y == 0)
    y[at[threadIdx.x]] = part[0][threadIdx.x];
  __syncthreads();
  if (threadIdx.y == 0)
    y[at[threadIdx.x] + 1] = 2.0f;
}
