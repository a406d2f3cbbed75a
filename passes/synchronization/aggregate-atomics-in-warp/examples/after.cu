// The lanes of a warp vote, and the first one counts for all.
__global__ void countPositive(const float *x, unsigned *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool wants = i < n && x[i] > 0.0f;
  unsigned mask = __ballot_sync(0xffffffffu, wants);
  if (mask != 0 && threadIdx.x % 32 == 0)
    atomicAdd(count, static_cast<unsigned>(__popc(mask)));
}

void run(const float *x, unsigned *count, int n) {
  countPositive<<<(n + 255) / 256, 256>>>(x, count, n);
}
