// kTaps is 0 where the number is known at run time only.
template <int kTaps>
__device__ __forceinline__ void filterOf(const float *x, const float *weight, float *y, int n,
                                         int taps) {
  const int count = kTaps ? kTaps : taps;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < count; ++k)
      sum += weight[k] * x[i + k];
    y[i] = sum;
  }
}

__global__ void filterFive(const float *x, const float *weight, float *y, int n) {
  filterOf<5>(x, weight, y, n, 5);
}

// The filter's width is read at run time: a loop of unknown length, though nearly all callers have five taps.
__global__ void filter(const float *x, const float *weight, float *y, int n, int taps) {
  filterOf<0>(x, weight, y, n, taps);
}

void run(const float *x, const float *weight, float *y, int n, int taps) {
  if (taps == 5)
    filterFive<<<(n + 255) / 256, 256>>>(x, weight, y, n);
  else
    filter<<<(n + 255) / 256, 256>>>(x, weight, y, n, taps);
}
