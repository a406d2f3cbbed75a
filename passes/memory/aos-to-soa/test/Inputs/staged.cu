// The block's structures come as consecutive words; each thread picks its fields in shared memory. Three words are an odd stride: no
// bank conflicts. The layout outside of the kernel is the caller's, and stays.
struct Particle {
  float x, y, mass;
};

constexpr int kBlock = 128, kWords = sizeof(Particle) / sizeof(float);

__global__ void momentum(const Particle *particles, float *out, float speed, int n) {
  __shared__ float words[kBlock * kWords];
  int first = blockIdx.x * kBlock, count = min(n - first, kBlock);
  const float *from = reinterpret_cast<const float *>(particles + first);
  for (int w = threadIdx.x; w < count * kWords; w += kBlock)
    words[w] = from[w];
  __syncthreads();
  if (threadIdx.x < count)
    out[first + threadIdx.x] = words[threadIdx.x * kWords + 2] * speed + words[threadIdx.x * kWords];
}

void run(const float *data, float *out, float speed, int n) {
  momentum<<<(n + kBlock - 1) / kBlock, kBlock>>>(reinterpret_cast<const Particle *>(data), out, speed, n);
}
