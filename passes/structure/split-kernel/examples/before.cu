// Every thread of every block computes the same total before it does its own work.
__global__ void normalize(const float *x, const float *weights, float *y, int n, int count) {
  float total = 0.0f;
  for (int k = 0; k < count; ++k)
    total += weights[k] * weights[k];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] / (1.0f + total);
}

void run(const float *x, const float *weights, float *y, int n, int count) {
  normalize<<<(n + 255) / 256, 256>>>(x, weights, y, n, count);
}
