// Sizes of 64 bits make the condition of the launch long, so that it becomes a function of its own.
__global__ void average(float *__restrict__ next, const float *__restrict__ prev, size_t rows, size_t cols) {
  size_t x = blockIdx.x * blockDim.x + threadIdx.x;
  size_t y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= 1 && x < cols - 1 && y >= 1 && y < rows - 1)
    next[y * cols + x] = prev[y * cols + x + 1] + prev[y * cols + x - 1] + prev[(y + 1) * cols + x] + prev[(y - 1) * cols + x];
}
