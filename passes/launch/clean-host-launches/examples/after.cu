// A buffer per step, and the host waits after each launch.
__global__ void relax(const float *from, float *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    to[i] = 0.5f * from[i] + 0.25f * (from[i > 0 ? i - 1 : i] + from[i + 1 < n ? i + 1 : i]);
}

void run(float *x, int n, int steps) {
  float *next = nullptr;
  for (int step = 0; step < steps; ++step) {
    if (!next)
      cudaMalloc(&next, n * sizeof(float));
    relax<<<(n + 255) / 256, 256>>>(x, next, n);
    cudaMemcpy(x, next, n * sizeof(float), cudaMemcpyDeviceToDevice);
  }
  cudaDeviceSynchronize();
  cudaFree(next);
}
