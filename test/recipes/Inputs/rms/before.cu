#include <cstdio>
#include <vector>
__global__ void rmsRows(float *y, const float *x, const float *w, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0;
    for (int j = 0; j < width; ++j)
      sum += x[row * width + j] * x[row * width + j];
    float scale = rsqrtf(sum / width + 1e-5f);
    for (int j = 0; j < width; ++j)
      y[row * width + j] = x[row * width + j] * scale * w[j];
  }
}
int main() {
  const int rows = 512, width = 256;
  std::vector<float> host(rows * width), weights(width);
  for (int i = 0; i < rows * width; ++i)
    host[i] = float(i % 17) - 8;
  for (int i = 0; i < width; ++i)
    weights[i] = float(i % 5);
  float *x, *y, *w;
  cudaMalloc(&x, sizeof(float) * rows * width);
  cudaMalloc(&y, sizeof(float) * rows * width);
  cudaMalloc(&w, sizeof(float) * width);
  cudaMemcpy(x, host.data(), sizeof(float) * rows * width, cudaMemcpyHostToDevice);
  cudaMemcpy(w, weights.data(), sizeof(float) * width, cudaMemcpyHostToDevice);
  int threads = 128, blocks = (rows + threads - 1) / threads;
  rmsRows<<<blocks, threads>>>(y, x, w, rows, width);
  cudaMemcpy(host.data(), y, sizeof(float) * rows * width, cudaMemcpyDeviceToHost);
  printf("%g\n", host[width]);
}
