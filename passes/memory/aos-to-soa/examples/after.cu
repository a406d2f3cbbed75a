// Each step reads one field in eight: 32 bytes lie between the words that neighbouring lanes read.
struct Particle {
  float x, y, z, vx, vy, vz, mass, charge;
};

__global__ void drift(float *particles_x, float *particles_vx, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    particles_x[i] += particles_vx[i] * dt;
}

__global__ void splitParticle(const Particle *whole, float *x, float *vx, size_t count) {
  const size_t at = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < count) {
    x[at] = whole[at].x;
    vx[at] = whole[at].vx;
  }
}

__global__ void joinParticle(Particle *whole, const float *x, size_t count) {
  const size_t at = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < count) {
    whole[at].x = x[at];
  }
}

int main() {
  const int n = 1 << 14, steps = 20;
  static Particle host[n];
  for (int i = 0; i < n; ++i)
    host[i].vx = i % 7 * 0.5f;
  Particle *particles;
  cudaMalloc(&particles, n * sizeof(Particle));
  const size_t particles_count = n;
  float *particles_x;
  cudaMalloc(&particles_x, particles_count * sizeof(*particles_x));
  float *particles_vx;
  cudaMalloc(&particles_vx, particles_count * sizeof(*particles_vx));
  cudaMemcpy(particles, host, sizeof host, cudaMemcpyHostToDevice);
  splitParticle<<<particles_count / 256 + 1, 256>>>(particles, particles_x, particles_vx,
                                                    particles_count);
  for (int step = 0; step < steps; ++step)
    drift<<<n / 256, 256>>>(particles_x, particles_vx, 0.25f, n);
  joinParticle<<<particles_count / 256 + 1, 256>>>(particles, particles_x, particles_count);
  cudaMemcpy(host, particles, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(particles);
  cudaFree(particles_x);
  cudaFree(particles_vx);
  return host[1].x <= 0;
}
