// The number of threads stays where the grid does not follow from the guard.
// RUN: kb-opt -passes='tune-block-size{size=64}' --quiet --remarks-file=%t.yaml -o %t.cu %s
// RUN: grep -v '^ *//' %t.cu | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.yaml
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s 2>&1 | FileCheck %s --check-prefix=JUDGED
// RUN: kb-opt -passes='tune-block-size{size=256}' --quiet -o %t.large.cu %s
// RUN: grep -v '^ *//' %t.large.cu | FileCheck %s --check-prefix=LARGE
// RUN: kb-opt --by-passes --judge=%t.large.cu --promise=bitwise %s 2>&1 | FileCheck %s --check-prefix=JUDGED
// JUDGED: {{^}}correct{{$}}
#include <cstdio>
#include <cstdlib>

__global__ void unguarded(float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = x[i] * 2.0f + i;
}

__global__ void guarded(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += 1.0f;
}

__global__ void plane(float *x, int width, int height) {
  int column = 1 + blockIdx.x * blockDim.x + threadIdx.x, row = blockDim.y * blockIdx.y + 2 + threadIdx.y;
  if (column < width && row < height)
    x[row * width + column] -= row;
}

#define THREADS 128

void run(float *x, int n, int width, int height, int threads) {
  // Nothing is guarded: as many threads as before.
  // CHECK: unguarded<<<(n / THREADS) * 2, 64>>>(x);
  // LARGE: unguarded<<<(n / THREADS) % 2 == 0 ? (n / THREADS) / 2 : (n / THREADS), (n / THREADS) % 2 == 0 ? 256 : 128>>>(x);
  unguarded<<<n / THREADS, THREADS>>>(x);

  // The grid has a count of its own.
  // CHECK: guarded<<<blocks * 2, 64>>>(x, n);
  // REMARK: String: launched the same threads in blocks of 64 instead of 128
  // LARGE: guarded<<<blocks % 2 == 0 ? blocks / 2 : blocks, blocks % 2 == 0 ? 256 : 128>>>(x, n);
  int blocks = n / 128 + 1;
  guarded<<<blocks, 128>>>(x, n);
  // CHECK: guarded<<<40, 64, 0, 0>>>(x, n);
  // LARGE: guarded<<<10, 256, 0, 0>>>(x, n);
  guarded<<<20, 128, 0, 0>>>(x, n);

  // Only the run knows the size.
  // CHECK: guarded<<<threads % 64 == 0 ? blocks * (threads / 64) : blocks, threads % 64 == 0 ? 64 : threads>>>(x, n);
  // LARGE: guarded<<<threads % 256 == 0 ? blocks * (threads / 256) : blocks, threads % 256 == 0 ? 256 : threads>>>(x, n);
  guarded<<<blocks, threads>>>(x, n);

  // Two dimensions: the last one is cut, as far as a grid may be that high.
  // CHECK: plane<<<dim3(grid.x, grid.y <= 8191 ? grid.y * 8 : grid.y, 1), dim3(32, grid.y <= 8191 ? 2 : 16, 1)>>>(x, width, height);
  // LARGE: plane<<<dim3(grid.x, grid.y <= 32767 ? grid.y * 2 : grid.y, 1), dim3(32, grid.y <= 32767 ? 8 : 16, 1)>>>(x, width, height);
  dim3 block(32, 16), grid(width / 32 + 1, height / 16 + 1);
  plane<<<grid, block>>>(x, width, height);
}

int main() {
  const int width = 96, height = 50, n = width * height;
  float *x, *result = static_cast<float *>(malloc(5120 * sizeof(float)));
  for (int i = 0; i < 5120; ++i)
    result[i] = static_cast<float>(i % 17);
  cudaMalloc(&x, 5120 * sizeof(float));
  cudaMemcpy(x, result, 5120 * sizeof(float), cudaMemcpyHostToDevice);
  run(x, n, width, height, 256);
  cudaMemcpy(result, x, 5120 * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", result[n - 1]);
  return 0;
}
