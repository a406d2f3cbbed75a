// Twelve bytes lie between the words that neighbouring lanes read.
struct Particle {
  float x, y, mass;
};

__global__ void momentum(const Particle *particles, float *out, float speed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = particles[i].mass * speed + particles[i].x;
}

void run(const float *data, float *out, float speed, int n) {
  momentum<<<(n + 127) / 128, 128>>>(reinterpret_cast<const Particle *>(data), out, speed, n);
}
