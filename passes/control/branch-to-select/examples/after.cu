// Around every load a branch, and another one on the data.
constexpr int kRadius = 3;

__global__ void smooth(const float *x, float *y, float limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0.0f;
  for (int k = -kRadius; k <= kRadius; ++k) {
    int j = i + k;
    if (j >= 0 && j < n) {
      float value = x[j];
      value = value > limit ? limit : value < -limit ? -limit : value;
      sum += value;
    }
  }
  y[i] = sum;
}

void run(const float *x, float *y, float limit, int n) {
  smooth<<<(n + 127) / 128, 128>>>(x, y, limit, n);
}
