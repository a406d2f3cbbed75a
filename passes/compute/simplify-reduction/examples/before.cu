// Every thread forms the mean of its whole row again.
constexpr int kColumns = 512;

__global__ void center(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * kColumns) {
    int row = i / kColumns;
    float sum = 0.0f;
    for (int k = 0; k < kColumns; ++k)
      sum += x[row * kColumns + k];
    y[i] = x[i] - sum / kColumns;
  }
}

void run(float *y, const float *x, int n) {
  center<<<(n * kColumns + 255) / 256, 256>>>(y, x, n);
}
