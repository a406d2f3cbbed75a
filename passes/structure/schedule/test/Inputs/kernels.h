__global__ void rowSum(float *out, const float *a, int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows) {
    float sum = 0.0f;
    for (int j = 0; j < columns; j++)
      sum += a[i * columns + j];
    out[i] = sum;
  }
}

namespace inner {
__global__ void twice(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    a[i] *= 2.0f;
}
} // namespace inner
