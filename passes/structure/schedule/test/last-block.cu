// Where the last block ends a sum, a launch of its own ends it: what all blocks do gets a schedule.
// RUN: kb-opt --quiet -passes='schedule{kernel=sumOfSquares as="rows"},schedule{kernel=highest}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: not kb-opt --judge=%t.cu --promise=reassociates %s -- -DSTART=1 | FileCheck --check-prefix=STARTED %s
// CHECK: sumOfSquares{{R}}ows(const float *__restrict__ in
// CHECK-NOT: atomic
// CHECK: sumOfSquares{{E}}nd(const float *in
// CHECK: highest_{{rows}}(const float *__restrict__ in
// CHECK-NOT: atomic
// CHECK: sumOfSquares{{R}}ows<<<
// CHECK-NEXT: sumOfSquares{{E}}nd<<<1,
// CHECK: highest_{{rows}}<<<
// CHECK: highest_{{end}}<<<1,
// JUDGED: {{^}}correct
// STARTED-NOT: {{^}}correct
#include <cstdio>
#include <vector>
#ifndef START
#define START 0
#endif

__device__ unsigned int arrived = START;

__device__ float blockSum(float v) {
  __shared__ float s[8];
  for (int o = 16; o > 0; o /= 2)
    v += __shfl_down_sync(0xffffffff, v, o);
  if (threadIdx.x % 32 == 0)
    s[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < 8 ? s[threadIdx.x] : 0.0f;
  for (int o = 4; o > 0; o /= 2)
    v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}

__global__ void sumOfSquares(const float *in, float *partial, float *out, int n) {
  __shared__ bool isLast;
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine += in[i] * in[i];
  mine = blockSum(mine);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = mine;
    __threadfence();
    isLast = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (isLast) {
    mine = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x)
      mine += partial[i];
    __syncthreads();
    mine = blockSum(mine);
    if (threadIdx.x == 0) {
      *out = sqrtf(mine);
      arrived = 0;
    }
  }
}

__global__ void highest(const float *in, float *partial, float *out, unsigned *count, int n) {
  __shared__ float s[128];
  __shared__ unsigned ticket;
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = i < n ? in[i] : -1e30f;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h)
      s[t] = fmaxf(s[t], s[t + h]);
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    ticket = atomicInc(count, gridDim.x - 1);
  }
  __syncthreads();
  if (ticket != gridDim.x - 1)
    return;
  float m = -1e30f;
  for (int k = t; k < gridDim.x; k += 128)
    m = fmaxf(m, partial[k]);
  s[t] = m;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h)
      s[t] = fmaxf(s[t], s[t + h]);
    __syncthreads();
  }
  if (t == 0)
    out[0] = s[0];
}

int main() {
  const int n = 20000, blocks = 24;
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i)
    host[i] = (i * 37 % 101 - 50) / 16.0f;
  float *in, *partial, *out, *top;
  unsigned *count;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&partial, 1024 * sizeof(float));
  cudaMalloc(&out, sizeof(float));
  cudaMalloc(&top, sizeof(float));
  cudaMalloc(&count, sizeof(unsigned));
  cudaMemset(count, 0, sizeof(unsigned));
  cudaMemcpy(in, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  float norm, maximum;
  for (int round = 0; round < 2; ++round) {
    sumOfSquares<<<blocks, 256>>>(in, partial, out, n);
    highest<<<(n + 127) / 128, 128>>>(in, partial, top, count, n);
  }
  cudaMemcpy(&norm, out, sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(&maximum, top, sizeof(float), cudaMemcpyDeviceToHost);
  printf("%g %g\n", norm, maximum);
}
