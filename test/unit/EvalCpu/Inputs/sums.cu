// Numbers on their ways through device code, for the float64 oracle.
#include <cuda_fp16.h>
#include <mma.h>

extern "C" {

__global__ void sequential(const float *x, float *y, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += x[i];
  y[0] = sum;
}

__global__ void products(const float *x, const float *z, float *y, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += x[i] * z[i];
  y[0] = sum / n;
}

__global__ void atomics(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(y, x[i]);
}

/// Additions to the bits of a float.
__global__ void exchanges(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int *bits = reinterpret_cast<int *>(y), old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __float_as_int(x[i] + __int_as_float(assumed)));
  } while (assumed != old);
}

__global__ void block(const float *x, float *y, int n) {
  __shared__ float parts[128];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 128)
    sum += x[i];
  parts[threadIdx.x] = sum;
  for (int step = 64; step >= 32; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step)
      parts[threadIdx.x] += parts[threadIdx.x + step];
  }
  __syncthreads();
  sum = parts[threadIdx.x % 32];
  for (int step = 16; step; step /= 2)
    sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x == 0)
    y[0] = sum;
}

/// Through an array of the thread, vectors and a copy of bytes.
__global__ void detours(const float4 *x, float *y, int n) {
  float sums[8] = {};
  for (int i = 0; i < n / 4; ++i) {
    float4 four = x[i];
    sums[i % 8] += four.x + four.y + four.z + four.w;
  }
  float copies[8];
  memcpy(copies, sums, sizeof copies);
  float sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += copies[(i + n) % 8];
  y[0] = sum;
}

__global__ void exponentials(const float *x, float *y, int n) {
  float most = x[0], sum = 0;
  for (int i = 1; i < n; ++i)
    most = fmaxf(most, x[i]);
  for (int i = 0; i < n; ++i)
    sum += expf(x[i] - most);
  y[0] = logf(sum) + most;
}

__global__ void halves(const __half2 *x, __half *y, int n) {
  __half2 sum = __float2half2_rn(0);
  for (int i = 0; i < n / 2; ++i)
    sum = __hadd2(sum, x[i]);
  y[0] = __hadd(__low2half(sum), __high2half(sum));
}

__global__ void matrices(const __half *a, const __half *b, float *c, int k) {
  using namespace nvcuda::wmma;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0);
  for (int at = 0; at < k; at += 16) {
    fragment<matrix_a, 16, 16, 16, __half, row_major> left;
    fragment<matrix_b, 16, 16, 16, __half, row_major> right;
    load_matrix_sync(left, a + at, k);
    load_matrix_sync(right, b + at * 16, 16);
    mma_sync(sum, left, right, sum);
  }
  store_matrix_sync(c, sum, 16, mem_row_major);
}
}
