#include <cstdio>
#include <vector>
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
int main() {
  const int n = 4099;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) { x[i] = i % 97; y[i] = i % 31; }
  float *dx, *dy;
  cudaMalloc(&dx, n * 4); cudaMalloc(&dy, n * 4);
  cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y.data(), n * 4, cudaMemcpyHostToDevice);
  saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, dx, dy);
  cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost);
  printf("%f\n", y[5]);
}
