// What DeviceBench.cpp runs on the CPU device; PlainLoop.cpp has the same loops in plain C++.

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

extern "C" __global__ void matmul(int n, const float *a, const float *b, float *c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

extern "C" __global__ void blockSum(int n, const float *x, float *out) {
  __shared__ float partial[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = partial[0];
}

extern "C" __global__ void warpSum(int n, const float *x, float *out) {
  __shared__ float partial[8];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  float sum = i < n ? x[i] : 0.0f;
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32)
    return;
  sum = lane < 8 ? partial[lane] : 0.0f;
  for (int step = 4; step > 0; step /= 2)
    sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0)
    out[blockIdx.x] = sum;
}
