// A thread for each point where a point sums few terms; a stencil of which only eight neighbours share loads; directives in a kernel.
// RUN: kb-opt "-passes=schedule" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// REMARK: remark: added 'smooth{{_}}wide'
// REMARK: remark: added 'columnSums{{C}}olumns'
// REMARK: remark: added 'far{{_}}tiled' (stencil along=y block=256 inflight=8
// REMARK: remark: added 'farther{{_}}wide'
// JUDGED: {{^}}correct
#include <cstdio>
#include <vector>

#define UNROLLED
__global__ void smooth(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0;
#ifdef UNROLLED
#pragma unroll
#endif
    for (int k = 0; k < 3; ++k)
      sum += x[i + k];
    y[i] = sum;
  }
}

__global__ void columnSums(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0;
    for (int k = 0; k < 40; ++k)
      sum += x[k * n + i];
    y[i] = sum;
  }
}

__global__ void far(float *next, const float *prev, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y >= 4 && y < h - 4)
    next[y * w + x] = prev[(y - 4) * w + x] + prev[y * w + x] + prev[(y + 4) * w + x];
}

__global__ void farther(float *next, const float *prev, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y >= 5 && y < h - 5)
    next[y * w + x] = prev[(y - 5) * w + x] + prev[(y + 5) * w + x];
}

void run(float *a, float *b, int w, int h) {
  dim3 block(32, 8), grid((w + 31) / 32, (h + 7) / 8);
  int n = w * h - 2;
  smooth<<<(n + 255) / 256, 256>>>(b, a, n);
  far<<<grid, block>>>(a, b, w, h);
  farther<<<grid, block>>>(b, a, w, h);
  columnSums<<<(w + 255) / 256, 256>>>(a, b, w);
}

int main() {
  const int w = 67, h = 50;
  std::vector<float> host(w * h);
  for (int i = 0; i < w * h; ++i)
    host[i] = i % 9 - 4;
  float *a, *b;
  cudaMalloc(&a, host.size() * sizeof(float));
  cudaMalloc(&b, host.size() * sizeof(float));
  cudaMemset(b, 0, host.size() * sizeof(float));
  cudaMemcpy(a, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  run(a, b, w, h);
  run(b, a, 10, 43);
  cudaMemcpy(host.data(), a, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
  float sum = 0;
  for (float each : host)
    sum += each;
  printf("%g\n", sum);
}
