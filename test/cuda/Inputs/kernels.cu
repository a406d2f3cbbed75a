// Kernels that work and kernels that go wrong, for scripts/gpu-selftest and the
// lit tests of the feature `cuda-device`. All arrays have n elements.
#include <cassert>

__device__ int launches;

__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

// The same, 32 elements apart: every lane in a sector of its own.
__global__ void saxpyStrided(int n, float a, const float *x, float *y) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, rows = n / 32;
  int i = t % rows * 32 + t / rows;
  if (t < n)
    y[i] = a * x[i] + y[i];
}

__global__ void sumBlocks(int n, const int *x, int *sums) {
  __shared__ int part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step)
      part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = part[0];
}

// y[i] = *table[i % 2] + i, with pointers that lie in device memory.
__global__ void throughTable(int n, const int *const *table, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = table[i % 2][i] + i;
  if (i == 0)
    ++launches;
}

// One element beyond the end.
__global__ void writeOutside(int n, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    y[i] = i;
}

__global__ void writeInput(int n, const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i];
  if (i == 7)
    const_cast<int *>(x)[i] = 1;
}

// Leaves the last elements as they were.
__global__ void forgetTail(int n, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 5)
    y[i] = i;
}

// The same result whatever the poison, and the wrong one.
__global__ void offByOne(int n, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = i + 1;
}

__global__ void illegalAddress(int n, int *y) { *reinterpret_cast<int *>(8ull << 40) = n; }

__global__ void trapAlways(int n, int *y) { __trap(); }

__global__ void assertAlways(int n, int *y) { assert(n < 0); }

__global__ void endless(int n, volatile int *y) {
  while (y[0] != 12345678)
    ;
}

// Work for the arithmetic units alone.
__global__ void multiplyAdds(int n, int steps, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = i * 1e-9f, b = a + 1, c = a + 2, d = a + 3;
  for (int k = 0; k < steps; ++k) {
    a = a * 0.5f + 1;
    b = b * 0.5f + 1;
    c = c * 0.5f + 1;
    d = d * 0.5f + 1;
  }
  if (i < n)
    y[i] = a + b + c + d;
}

// A barrier is missing: neighbours read what may not be there yet.
__global__ void raceShared(int n, int *y) {
  __shared__ int part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i;
  if (i < n)
    y[i] = part[(threadIdx.x + 64) % 256];
}

// Reads what nobody wrote.
__global__ void readFresh(int n, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += i;
}

// Half of a block waits for the other half at another barrier.
__global__ void divergentBarrier(int n, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 32 < 16)
    __syncthreads();
  if (i < n)
    y[i] = i;
}

// Of two buffers, the bytes of the first or of the second: an original and a candidate whose
// results are what a test wants them to be.
__global__ void copyFirst(int n, const char *a, const char *b, char *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a[i];
}
__global__ void copySecond(int n, const char *a, const char *b, char *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = b[i];
}

// Outside of its buffer, and perhaps of all that it may write to.
__global__ void writeBefore(int n, long long distance, int *y) {
  *reinterpret_cast<volatile int *>(reinterpret_cast<char *>(y) - distance) = n;
}
