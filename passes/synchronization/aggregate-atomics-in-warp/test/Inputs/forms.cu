// Every form of the rewrite in one kernel whose result does not depend on the order of lanes.
__global__ void forms(const int *x, unsigned *bins, unsigned *count, int *largest, unsigned *seen,
                      unsigned *taken, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  atomicAdd(&bins[x[i] & 7], 3u);
  atomicMax(largest, x[i]);
  atomicOr(&seen[blockIdx.x % 2], 1u << (x[i] & 31));
  if (x[i] > 0) {
    unsigned place = atomicAdd(count, 1u);
    atomicAdd(&taken[place], 1u);
  }
  for (int k = 0; k < (x[i] & 3); ++k)
    atomicAdd(&bins[8 + k], static_cast<unsigned>(x[i]));
}

void run(const int *x, unsigned *bins, unsigned *count, int *largest, unsigned *seen, unsigned *taken, int n) {
  forms<<<(n + 95) / 96, 96>>>(x, bins, count, largest, seen, taken, n);
}
