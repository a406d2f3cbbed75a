// Every halving waits for the whole block.
__global__ void sum(const float *x, float *total, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    total[blockIdx.x] = part[0];
}

void run(const float *x, float *total, int n) {
  sum<<<(n + 255) / 256, 256>>>(x, total, n);
}
