// What a thread does. kInside: no index of its block lies outside.
template <bool kInside>
__device__ __forceinline__ void blurBlock(const float *in, float *out, int height, int width) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (!kInside && (row >= height || col >= width))
    return;
  float sum = 0.0f;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int r = row + dy, c = col + dx;
      sum += kInside || (r >= 0 && r < height && c >= 0 && c < width) ? in[r * width + c] : 0.0f;
    }
  out[row * width + col] = sum / 9.0f;
}

// Every load of the nine is guarded, though only blocks at the border need it.
__global__ void blur(const float *in, float *out, int height, int width) {
  // The smallest and the largest index that the block can form: the same for all its threads.
  const bool inside = static_cast<long long>(blockIdx.y * blockDim.y) + blockDim.y < height &&
                      static_cast<long long>(blockIdx.x * blockDim.x) + blockDim.x < width &&
                      static_cast<long long>(blockIdx.y * blockDim.y) - 1 >= 0 &&
                      static_cast<long long>(blockIdx.x * blockDim.x) - 1 >= 0;
  if (inside)
    blurBlock<true>(in, out, height, width);
  else
    blurBlock<false>(in, out, height, width);
}

void run(const float *in, float *out, int height, int width) {
  dim3 block(32, 4), grid((width + 31) / 32, (height + 3) / 4);
  blur<<<grid, block>>>(in, out, height, width);
}
