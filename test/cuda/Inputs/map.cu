#include <cstdio>
#include <cuda_runtime.h>

__global__ void map(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = 5 * in[i];
    out[i] = out[i] + in[i] + 1;
  }
}

int main() {
  const int n = 1000;
  static int values[n];
  for (int i = 0; i < n; ++i)
    values[i] = (i * 7919) % 1001;
  int *in, *out;
  cudaMalloc(&in, sizeof values);
  cudaMalloc(&out, sizeof values);
  cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice);
  map<<<(n + 127) / 128, 128>>>(in, out, n);
  cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost);
  printf("%d\n", values[n - 1]);
  cudaFree(in);
  cudaFree(out);
}
