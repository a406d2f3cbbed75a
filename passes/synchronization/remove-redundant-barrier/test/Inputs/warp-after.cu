// Steps of 128, 64 and 32 read what other warps wrote. After the one of 32 only threads 0 to 31 read and write, the first warp.
__global__ void blockSums(const float *x, float *sums, int n) {
  __shared__ float part[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  part[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = 128; half > 32; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t >= 32)
    return;
  for (int half = 32; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncwarp();
  }
  if (t == 0)
    sums[blockIdx.x] = part[0];
}

void run(const float *x, float *sums, int n) {
  blockSums<<<(n + 255) / 256, 256>>>(x, sums, n);
}
