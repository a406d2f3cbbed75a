// Every load of the nine is guarded, though only blocks at the border need it.
__global__ void blur(const float *in, float *out, int height, int width) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= height || col >= width)
    return;
  float sum = 0.0f;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int r = row + dy, c = col + dx;
      sum += r >= 0 && r < height && c >= 0 && c < width ? in[r * width + c] : 0.0f;
    }
  out[row * width + col] = sum / 9.0f;
}

void run(const float *in, float *out, int height, int width) {
  dim3 block(32, 4), grid((width + 31) / 32, (height + 3) / 4);
  blur<<<grid, block>>>(in, out, height, width);
}
