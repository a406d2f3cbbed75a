struct Body {
  float x, y, z, mass;
};

__global__ void momenta(const Body *__restrict__ bodies, float *__restrict__ out, int n, float speed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = bodies[i].mass * speed * (bodies[i].x + bodies[i].y + bodies[i].z);
}

int main() {
  const int n = 4096;
  static Body host[n];
  static float result[n];
  for (int i = 0; i < n; ++i)
    host[i] = {i % 7 * 0.5f, i % 5 * 0.25f, i % 3 * 2.0f, 1.0f + i % 11};
  Body *bodies;
  float *out;
  cudaMalloc(&bodies, sizeof host);
  cudaMalloc(&out, sizeof result);
  cudaMemcpy(bodies, host, sizeof host, cudaMemcpyHostToDevice);
  momenta<<<n / 256, 256>>>(bodies, out, n, 3.0f);
  cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
  return result[1] <= 0;
}
