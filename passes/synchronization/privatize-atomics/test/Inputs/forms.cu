// An exit to turn around, indices that may lie outside, a block with two axes.
__global__ void forms(const int *__restrict__ x, int *__restrict__ bins, int n) {
  int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  for (int k = 0; k < 3; ++k)
    atomicAdd(&bins[x[i] * k], k + 1);
  if (x[i] > 3)
    atomicAdd(bins + 7, -1);
}

void run(const int *x, int *bins, int n) {
  forms<<<(n + 95) / 96, dim3(24, 4)>>>(x, bins, n);
}
