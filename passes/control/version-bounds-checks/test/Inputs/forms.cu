// A radius that is a template's argument, a loop that goes on, a guard of which a part stays.
template <int kRadius>
__global__ void forms(const float *x, const float *weights, float *y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0.0f;
  for (int k = -kRadius; k <= kRadius; ++k) {
    const int j = i + k;
    if (j >= 0 && j < n)
      sum += x[j];
  }
  for (int k = -kRadius; k <= kRadius; ++k) {
    const int j = i - k;
    if (j < 0 || j >= n || weights[k + kRadius] == 0)
      continue;
    sum += weights[k + kRadius] * x[j];
  }
  if (i < n)
    y[i] = sum;
}

void run(const float *x, const float *weights, float *y, int n) {
  forms<2><<<(n + 63) / 64, 64>>>(x, weights, y, n);
}
