#include <cstdio>

__global__ void used(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < 64; ++k)
      out[i] += in[i * 64 + k];
}

__global__ void unused(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int k = 0; k < 64; ++k)
      out[i] += 2 * in[i * 64 + k];
}

int main(int count, char **) {
  const int n = 128;
  static float values[n * 64];
  for (int i = 0; i < n * 64; ++i)
    values[i] = i % 7;
  float *in, *out;
  cudaMalloc(&in, sizeof values);
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, n * sizeof(float));
  if (count > 1)
    unused<<<1, 128>>>(out, in, n);
  else
    used<<<1, 128>>>(out, in, n);
  cudaMemcpy(values, out, n * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", values[1]);
}
