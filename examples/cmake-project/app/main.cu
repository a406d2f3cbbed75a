// Brightens an image and prints the sum of its first row.
#include "gain.h"
#include "stats.h"
#include <cstdio>
#include <vector>

int main() {
  const int rows = 64, columns = 64, pixels = rows * columns;
  std::vector<float> image(pixels, 0.5f), sums(rows);
  float *in, *out, *deviceSums;
  cudaMalloc(&in, pixels * sizeof(float));
  cudaMalloc(&out, pixels * sizeof(float));
  cudaMalloc(&deviceSums, rows * sizeof(float));
  cudaMemcpy(in, image.data(), pixels * sizeof(float), cudaMemcpyHostToDevice);
  applyGain(out, in, pixels, 1.25f);
  clearSums(deviceSums, rows);
  rowSums(deviceSums, out, rows, columns);
  cudaMemcpy(sums.data(), deviceSums, rows * sizeof(float), cudaMemcpyDeviceToHost);
  printf("sum of the first row: %.3f\n", sums[0]);
  cudaFree(in);
  cudaFree(out);
  cudaFree(deviceSums);
}
