// 'filter' for taps == 5.
__global__ void filterTaps5(const float *x, const float *weight, float *y, int n) {
  constexpr int taps = 5;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    for (int k = 0; k < taps; ++k)
      sum += weight[k] * x[i + k];
    y[i] = sum;
  }
}

// The filter's width is read at run time: a loop of unknown length, though nearly all callers have five taps.
__global__ void filter(const float *x, const float *weight, float *y, int n, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    for (int k = 0; k < taps; ++k)
      sum += weight[k] * x[i + k];
    y[i] = sum;
  }
}

void run(const float *x, const float *weight, float *y, int n, int taps) {
  if (taps == 5)
    filterTaps5<<<(n + 255) / 256, 256>>>(x, weight, y, n);
  else
    filter<<<(n + 255) / 256, 256>>>(x, weight, y, n, taps);
}

void smooth(const float *x, const float *weight, float *y, int n) { run(x, weight, y, n, 5); }
