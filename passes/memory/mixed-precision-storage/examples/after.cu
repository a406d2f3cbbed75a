// Each square is rounded once, when it is stored; the sum is one of floats. The allocation is larger than what is used of it.
#include <cuda_fp16.h>
__global__ void squareToHalf(const float *x, __half *squares, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    squares[i] = __float2half_rn(x[i] * x[i]);
}

__global__ void smoothFromHalf(const __half *squares, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float left = __half2float(squares[i > 0 ? i - 1 : i]), right = __half2float(squares[i + 1 < n ? i + 1 : i]);
    y[i] = 0.25f * left + 0.5f * __half2float(squares[i]) + 0.25f * right;
  }
}

__global__ void square(const float *x, float *squares, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    squares[i] = x[i] * x[i];
}

__global__ void smooth(const float *squares, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 0.25f * squares[i > 0 ? i - 1 : i] + 0.5f * squares[i] + 0.25f * squares[i + 1 < n ? i + 1 : i];
}

void run(const float *x, float *y, int n) {
  float *squares;
  cudaMalloc(&squares, n * sizeof(float));
  squareToHalf<<<(n + 255) / 256, 256>>>(x, reinterpret_cast<__half *>(squares), n);
  smoothFromHalf<<<(n + 255) / 256, 256>>>(reinterpret_cast<__half *>(squares), y, n);
  cudaFree(squares);
}
