// A block counts in shared memory, and adds each bin to the global one once.
constexpr int kBins = 64;

__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
  __shared__ unsigned own[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x)
    own[b] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&own[data[i] % kBins], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x)
    if (own[b])
      atomicAdd(&bins[b], own[b]);
}

void run(const unsigned char *data, unsigned *bins, int n) {
  histogram<<<(n + 255) / 256, 256>>>(data, bins, n);
}
