// Every second, fourth, eighth thread adds: to the last step all warps run, with ever fewer lanes.
constexpr int kThreads = 256;

__global__ void blockSums(const float *x, float *sums, int n) {
  __shared__ float part[kThreads];
  int tid = threadIdx.x, i = blockIdx.x * kThreads + tid;
  part[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = 1; stride < kThreads; stride *= 2) {
    // Thread t does what thread 2 * stride * t did: the same sums in the same order, by whole
    // warps. Halving the stride from the top would be free of bank conflicts too, but adds other
    // pairs.
    int at = 2 * stride * tid;
    if (at < kThreads)
      part[at] += part[at + stride];
    __syncthreads(); // reached by all, not in the branch
  }
  if (tid == 0)
    sums[blockIdx.x] = part[0];
}

void run(const float *x, float *sums, int n) {
  blockSums<<<(n + kThreads - 1) / kThreads, kThreads>>>(x, sums, n);
}
