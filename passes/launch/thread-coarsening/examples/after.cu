// Four elements per thread, a block apart: eight loads are in flight before the first is used.
constexpr int kItems = 4;

__global__ void saxpy(const float *x, float *y, float a, int n) {
  int first = blockIdx.x * blockDim.x * kItems + threadIdx.x;
  float left[kItems], right[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    int i = first + k * blockDim.x;
    left[k] = i < n ? x[i] : 0.0f;
    right[k] = i < n ? y[i] : 0.0f;
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    int i = first + k * blockDim.x;
    if (i < n)
      y[i] = a * left[k] + right[k];
  }
}

void run(const float *x, float *y, float a, int n) {
  int perBlock = 256 * kItems;
  saxpy<<<(n + perBlock - 1) / perBlock, 256>>>(x, y, a, n);
}
