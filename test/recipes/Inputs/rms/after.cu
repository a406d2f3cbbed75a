#include <cstdio>
#include <vector>
constexpr int kThreads = 128;
__device__ float blockSum(float v) {
  __shared__ float part[32];
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < kThreads / 32 ? part[threadIdx.x % 32] : 0.0f;
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
__global__ void rmsRows(float *y, const float *x, const float *w, int rows, int width) {
  int row = blockIdx.x;
  float sum = 0;
  for (int j = threadIdx.x; j < width; j += kThreads)
    sum += x[row * width + j] * x[row * width + j];
  sum = blockSum(sum);
  float scale = rsqrtf(sum / width + 1e-5f);
  for (int j = threadIdx.x; j < width; j += kThreads)
    y[row * width + j] = x[row * width + j] * scale * w[j];
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
  rmsRows<<<rows, kThreads>>>(y, x, w, rows, width);
  cudaMemcpy(host.data(), y, sizeof(float) * rows * width, cudaMemcpyDeviceToHost);
  printf("%g\n", host[width]);
}
