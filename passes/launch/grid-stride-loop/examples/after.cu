// 'scale' with a grid of any size.
__global__ void scaleStrided(const float *x, float *y, float a, int n) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    y[i] = expf(a) * x[i];
}

// A block for every 256 elements.
__global__ void scale(const float *x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = expf(a) * x[i];
}

void run(const float *x, float *y, float a, int n) {
  {
    int blocks = (n + 255) / 256;
    if (blocks > 8 * 132)
      blocks = 8 * 132; // blocks per SM, SMs
    if (n <= 1 << 30)
      scaleStrided<<<blocks, 256>>>(x, y, a, n);
    else
      scale<<<(n + 255) / 256, 256>>>(x, y, a, n);
  }
}
