// A few blocks per SM go through all elements; the factor is computed once per thread.
__global__ void scale(const float *x, float *y, float a, int n) {
  float factor = expf(a);
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    y[i] = factor * x[i];
}

void run(const float *x, float *y, float a, int n) {
  int blocks = (n + 255) / 256;
  if (blocks > 8 * 132)
    blocks = 8 * 132;
  scale<<<blocks, 256>>>(x, y, a, n);
}
