// Around every load a branch, and another one on the data.
constexpr int kRadius = 3;

__global__ void smooth(const float *x, float *y, float limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0.0f;
#pragma unroll
  for (int k = -kRadius; k <= kRadius; ++k) {
    int j = i + k;
    // The element itself is always there: its load cannot fault, and its value is dropped.
    bool inside = j >= 0 && j < n;
    float value = x[inside ? j : i];
    // Comparisons, not fminf: a NaN stays a NaN.
    value = value > limit ? limit : value < -limit ? -limit : value;
    // Not "sum += inside ? value : 0", which makes +0 of -0.
    sum = inside ? sum + value : sum;
  }
  y[i] = sum;
}

void run(const float *x, float *y, float limit, int n) {
  smooth<<<(n + 127) / 128, 128>>>(x, y, limit, n);
}
