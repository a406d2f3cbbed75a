// Every lane that finds a positive value takes a number from one counter.
__global__ void countPositive(const float *x, unsigned *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0.0f) {
    const unsigned lanes = __activemask();
    if (threadIdx.x % 32 == __ffs(lanes) - 1)
      atomicAdd(count, static_cast<unsigned>(__popc(lanes)));
  }
}

void run(const float *x, unsigned *count, int n) {
  countPositive<<<(n + 255) / 256, 256>>>(x, count, n);
}
