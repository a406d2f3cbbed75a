// A block for every 256 elements.
__global__ void scale(const float *x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = expf(a) * x[i];
}

void run(const float *x, float *y, float a, int n) {
  scale<<<(n + 255) / 256, 256>>>(x, y, a, n);
}
