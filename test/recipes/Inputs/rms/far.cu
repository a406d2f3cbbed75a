#include <cstdio>
#include <vector>
__global__ void l1Scale(float *y, const float *x, const float *mean, float alpha, int rows, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0;
    for (int j = 0; j < width; ++j)
      sum += fabsf(x[row * width + j] - mean[row]);
    float scale = alpha / (sum + 1.0f);
    for (int j = 0; j < width; ++j)
      y[row * width + j] = (x[row * width + j] - mean[row]) * scale;
  }
}
int main() {
  const int rows = 512, width = 256;
  std::vector<float> host(rows * width), weights(rows);
  for (int i = 0; i < rows * width; ++i)
    host[i] = float(i % 17) - 8;
  for (int i = 0; i < rows; ++i)
    weights[i] = float(i % 5);
  float *x, *y, *w;
  cudaMalloc(&x, sizeof(float) * rows * width);
  cudaMalloc(&y, sizeof(float) * rows * width);
  cudaMalloc(&w, sizeof(float) * rows);
  cudaMemcpy(x, host.data(), sizeof(float) * rows * width, cudaMemcpyHostToDevice);
  cudaMemcpy(w, weights.data(), sizeof(float) * rows, cudaMemcpyHostToDevice);
  int threads = 128, blocks = (rows + threads - 1) / threads;
  l1Scale<<<blocks, threads>>>(y, x, w, 0.5f, rows, width);
  cudaMemcpy(host.data(), y, sizeof(float) * rows * width, cudaMemcpyDeviceToHost);
  printf("%g\n", host[width]);
}
