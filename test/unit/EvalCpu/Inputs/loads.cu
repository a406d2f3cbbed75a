// Loads between stores that may change what they read, and loads that the compiler may put together.

__global__ void apart(float *__restrict__ y, const float *__restrict__ x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i];
}

__global__ void mayMeet(float *y, const float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i];
}

__global__ void keptAsItIs(float *__restrict__ y, const float *__restrict__ x, int n) {
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = x[i];
}

__global__ void inPlaceByOne(float *y, int n) {
  for (int i = 0; i < n; ++i)
    y[i] = 2 * y[i];
}

__global__ void inPlaceByBlocks(float *y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = 2 * y[i];
}

__global__ void together(float *__restrict__ y, const float *__restrict__ x) {
  y[0] = x[0];
  y[1] = x[1];
}

__global__ void inTurn(float *y, const float *x) {
  y[0] = x[0];
  y[1] = x[1];
}
