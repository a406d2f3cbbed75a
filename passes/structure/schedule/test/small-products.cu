// Products of halves with few outputs: small tiles fill the chip, and the warps of a block share out the terms.
// RUN: kb-opt -arch=sm_90 -passes='schedule{kernel=layer as="contraction core=half bm=32 bn=64 bk=64 tm=32 tn=32 stages=4 split=2"},schedule{kernel=plain as="contraction core=half bm=16 bn=64 bk=64 tm=16 tn=64 stages=4 split=4"},schedule{kernel=thin as="contraction core=half bm=32 bn=32 bk=64 tm=16 tn=32 stages=3 split=2"}' -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --judge=%t.cu --promise=reassociates %s -- -arch=sm_90 | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt -arch=sm_90 -passes='schedule{kernel=plain as="contraction core=half bm=32 bn=32 bk=64 tm=32 tn=32 stages=3 split=4 vector=4"}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=BANKS %s
// RUN: kb-opt -arch=sm_90 -passes='schedule{kernel=plain as="contraction core=half bm=64 bn=64 bk=64 tm=32 tn=32 stages=3 split=8"}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=PARTS %s
// REMARK: added 'layer_{{t}}iled' ({{.*}}split=2
// REMARK: added 'plain_{{t}}iled' ({{.*}}split=4
// REMARK: added 'thin_{{t}}iled' ({{.*}}split=2
// JUDGED: {{^}}correct
// BANKS: rows of 32 elements of b do not lie in different banks
// PARTS: 8 parts are not one of 1, 2 and 4, which matrix units sum
// CHECK: layer_{{t}}iled(
// CHECK: const int part = threadIdx.x / (THREADS / SPLIT)
// CHECK: for (int step = 0; step < STEPS / SPLIT; ++step)
// CHECK: fetch(0, stage, part + step * SPLIT);
// CHECK: if (part > 0)
// CHECK: plain_{{t}}iled(
// CHECK: thin_{{t}}iled(
#include <cstdio>
#include <cuda_fp16.h>
#include <vector>

__global__ void layer(const half *x, const half *w, half *y, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __half2float(x[row * k + i]) * __half2float(w[col * k + i]);
  y[row * n + col] = __float2half(fmaxf(sum, 0.0f));
}

__global__ void plain(const half *a, const half *b, half *c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
  c[row * n + col] = __float2half(sum);
}

__global__ void thin(const half *x, const half *w, float *y, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = 1;
  for (int i = 0; i < k; ++i)
    sum += __half2float(x[row * k + i]) * __half2float(w[col * k + i]);
  y[row * n + col] = sum;
}

int main() {
  const int m = 40, n = 72, k = 136; // the last tile of each side is partly filled
  std::vector<half> host(n * k);
  for (int i = 0; i < n * k; ++i)
    host[i] = __float2half((i * 7 % 23 - 11) / 16.0f);
  half *x, *w, *y, *z;
  float *f;
  cudaMalloc(&x, m * k * sizeof(half));
  cudaMalloc(&w, n * k * sizeof(half));
  cudaMalloc(&y, m * n * sizeof(half));
  cudaMalloc(&z, m * n * sizeof(half));
  cudaMalloc(&f, m * n * sizeof(float));
  cudaMemcpy(x, host.data(), m * k * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(w, host.data(), n * k * sizeof(half), cudaMemcpyHostToDevice);
  dim3 grid((n + 31) / 32, (m + 7) / 8), block(32, 8);
  layer<<<grid, block>>>(x, w, y, m, n, k);
  plain<<<grid, block>>>(x, w, z, m, n, k);
  thin<<<grid, block>>>(x, w, f, m, n, k);
  std::vector<half> out(m * n);
  std::vector<float> sums(m * n);
  cudaMemcpy(out.data(), y, m * n * sizeof(half), cudaMemcpyDeviceToHost);
  printf("%g ", __half2float(out[m * n - 1]));
  cudaMemcpy(out.data(), z, m * n * sizeof(half), cudaMemcpyDeviceToHost);
  printf("%g ", __half2float(out[m * n - 1]));
  cudaMemcpy(sums.data(), f, m * n * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%g\n", sums[m * n - 1]);
}
