// Double literals in float arithmetic. On a chip with few fp64 units they decide the time.
#include <cstdio>
#include <vector>

__global__ void gain(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float value = in[i];
  for (int k = 0; k < 32; ++k)
    value = (value * 0.5 + 0.25) * 2.0 - 0.25; // adds 0.25, exactly
  out[i] = value;
}

int main() {
  const int n = 1 << 18;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i)
    in[i] = float(i % 251) * 0.25f;
  float *dIn, *dOut;
  cudaMalloc(&dIn, n * sizeof(float));
  cudaMalloc(&dOut, n * sizeof(float));
  cudaMemcpy(dIn, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  gain<<<n / 256, 256>>>(dOut, dIn, n);
  cudaMemcpy(out.data(), dOut, n * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%.3f\n", out[1]);
  cudaFree(dIn);
  cudaFree(dOut);
}
