#include "heat.cuh"
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s <cells> <steps>\n", argv[0]);
    return 2;
  }
  const int n = std::atoi(argv[1]), steps = std::atoi(argv[2]);
  std::vector<float> rod(n);
  for (int i = 0; i < n; ++i)
    rod[i] = static_cast<float>(i * 7 % 13);
  float *a, *b;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMemcpy(a, rod.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int k = 0; k < steps; ++k) {
    heatStep(a, b, n);
    addSource(b, n, 0.5f);
    std::swap(a, b);
  }
  cudaMemcpy(rod.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (float cell : rod)
    sum += cell;
  std::printf("%d cells, heat %.4f\n", n, sum);
  cudaFree(a);
  cudaFree(b);
  return 0;
}
