#include <cstdio>
#include <cstdlib>

__global__ void shift(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + a;
}

void run(float *y, const float *x, float a, int n) {
  shift<<<(n + 63) / 64, 64>>>(y, x, a, n);
}

int main(int count, char **) {
  const int n = 1000;
  static float host[n];
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i)
    host[i] = i % 17;
  cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(y, 0, n * sizeof(float));
  run(y + count, x + count, 1.0f, n - 2); // off by an element, and no multiple of 4
  cudaMemcpy(host, y, n * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%.3f\n", host[7]);
}
