__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= a;
}

void run(float *x, float a, int n) {
  const int threads = 64;
  const int blocks = (n + threads - 1) / threads;
  scale<<<blocks, threads>>>(x, a, n);
}
