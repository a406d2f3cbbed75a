// Kernels that are defined after the function that launches them, or in a header, in either side of a choice of the user's.
// RUN: kb-opt "-passes=schedule" -o %t.cu %s -- -I %S/Inputs 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s -- -I %S/Inputs | FileCheck --check-prefix=JUDGED %s
// REMARK: remark: added 'average{{_}}tiled'
// REMARK: remark: added 'wave{{_}}tiled'
// JUDGED: {{^}}correct
#include "averages.h"
#include <cstdio>
#include <vector>

__global__ void wave(float *next, const float *prev, unsigned rows, unsigned cols);

// CHECK: static inline bool can_use_average{{_}}tiled(size_t rows, size_t cols,
// CHECK: {{^ *}}wave{{_}}tiled(
// CHECK: static inline bool can_use_wave{{_}}tiled(
// CHECK: void run(
void run(float *a, float *b, unsigned rows, unsigned cols, bool isWave) {
  dim3 block(16, 16), grid((cols + 15) / 16, (rows + 15) / 16);
  // CHECK: can_use_wave{{_}}tiled(
  // CHECK: can_use_average{{_}}tiled(
  if (isWave) {
    wave<<<grid, block>>>(a, b, rows, cols);
  } else {
    average<<<grid, block>>>(a, b, rows, cols);
  }
}

__global__ void wave(float *next, const float *prev, unsigned rows, unsigned cols) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= 1 && x < cols - 1 && y >= 1 && y < rows - 1)
    next[y * cols + x] = prev[(y + 1) * cols + x] - 2.0f * prev[y * cols + x] + prev[(y - 1) * cols + x];
}

int main() {
  const unsigned rows = 67, cols = 129;
  std::vector<float> host(rows * cols);
  for (unsigned i = 0; i < rows * cols; ++i)
    host[i] = i % 9 - 4.0f;
  float *a, *b;
  cudaMalloc(&a, host.size() * sizeof(float));
  cudaMalloc(&b, host.size() * sizeof(float));
  cudaMemset(a, 0, host.size() * sizeof(float));
  cudaMemcpy(b, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  run(a, b, rows, cols, true);
  run(b, a, rows, cols, false);
  run(a, b, 2, cols, false);
  run(a, b, 1, 1, true);
  cudaMemcpy(host.data(), b, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
  float sum = 0;
  for (float each : host)
    sum += each;
  printf("%g\n", sum);
}
