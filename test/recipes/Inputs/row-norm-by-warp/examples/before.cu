__global__ void rowNorm(float *y, const float *x, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0;
    for (int j = 0; j < width; ++j)
      sum += x[row * width + j] * x[row * width + j];
    float scale = rsqrtf(sum + 1.0f);
    for (int j = 0; j < width; ++j)
      y[row * width + j] = scale * x[row * width + j];
  }
}
void normalise(float *y, const float *x, int rows, int width) { rowNorm<<<(rows + 127) / 128, 128>>>(y, x, rows, width); }
