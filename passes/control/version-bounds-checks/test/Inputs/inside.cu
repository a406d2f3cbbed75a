template <bool kInside>
__device__ __forceinline__ void blurAt(const float *in, float *out, int height, int width, int row,
                                       int col) {
  float sum = 0.0f;
#pragma unroll
  for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
    for (int dx = -1; dx <= 1; ++dx) {
      int r = row + dy, c = col + dx;
      bool ok = kInside || (r >= 0 && r < height && c >= 0 && c < width);
      sum += ok ? in[r * width + c] : 0.0f;
    }
  out[row * width + col] = sum / 9.0f;
}

// Every load of the nine is guarded, though only blocks at the border need it.
__global__ void blur(const float *in, float *out, int height, int width) {
  int firstCol = blockIdx.x * blockDim.x, firstRow = blockIdx.y * blockDim.y;
  int col = firstCol + threadIdx.x, row = firstRow + threadIdx.y;
  // The smallest and the largest index that the block can form, with the halo: the same for all its
  // threads.
  const bool inside = firstCol >= 1 && firstRow >= 1 && firstCol + (int)blockDim.x + 1 <= width &&
                      firstRow + (int)blockDim.y + 1 <= height;
  if (inside)
    blurAt<true>(in, out, height, width, row, col);
  else if (row < height && col < width)
    blurAt<false>(in, out, height, width, row, col);
}

void run(const float *in, float *out, int height, int width) {
  dim3 block(32, 4), grid((width + 31) / 32, (height + 3) / 4);
  blur<<<grid, block>>>(in, out, height, width);
}
