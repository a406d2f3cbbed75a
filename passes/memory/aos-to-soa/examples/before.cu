// Each step reads one field in eight: 32 bytes lie between the words that neighbouring lanes read.
struct Particle {
  float x, y, z, vx, vy, vz, mass, charge;
};

__global__ void drift(Particle *particles, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    particles[i].x += particles[i].vx * dt;
}

int main() {
  const int n = 1 << 14, steps = 20;
  static Particle host[n];
  for (int i = 0; i < n; ++i)
    host[i].vx = i % 7 * 0.5f;
  Particle *particles;
  cudaMalloc(&particles, n * sizeof(Particle));
  cudaMemcpy(particles, host, sizeof host, cudaMemcpyHostToDevice);
  for (int step = 0; step < steps; ++step)
    drift<<<n / 256, 256>>>(particles, 0.25f, n);
  cudaMemcpy(host, particles, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(particles);
  return host[1].x <= 0;
}
