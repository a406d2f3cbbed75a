// Every lane that finds a positive value takes a number from one counter.
__global__ void countPositive(const float *x, unsigned *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0.0f)
    atomicAdd(count, 1u);
}

void run(const float *x, unsigned *count, int n) {
  countPositive<<<(n + 255) / 256, 256>>>(x, count, n);
}
