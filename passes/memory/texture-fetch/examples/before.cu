// Rows of 256 points per block: the neighbours above and below are other cache lines each. Every point is clamped nine times.
__global__ void blur(const float *image, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width)
    return;
  float sum = 0.0f;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int row = y + dy < 0 ? 0 : y + dy >= height ? height - 1 : y + dy;
      int column = x + dx < 0 ? 0 : x + dx >= width ? width - 1 : x + dx;
      sum += image[row * width + column];
    }
  out[y * width + x] = sum * (1.0f / 9.0f);
}

void run(const float *image, float *out, int width, int height) {
  blur<<<dim3((width + 255) / 256, height), 256>>>(image, out, width, height);
}
