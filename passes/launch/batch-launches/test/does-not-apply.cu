// Each loop that stays a loop, and why.
// RUN: kb-opt -passes=batch-launches --quiet --remarks-file=%t.yaml -o %t.cu %s && diff %s %t.cu
// RUN: FileCheck %s < %t.yaml
#include <cstdio>

__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

__global__ void stepUp(float *x, int at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i + at] = x[i + at - 1] + 1.0f;
}

struct Sizes {
  int count[4];
};

void loops(float *y, float *x, float *z, const float *factors, float **all, Sizes sizes, int n, int times, int stride,
           unsigned wide, cudaStream_t *streams, float *host) {
  const int blocks = (n + 127) / 128;
  // CHECK: every launch of the loop over ''t'' is passed the same
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128>>>(y, x, 2.0f, n);
  // CHECK: the launches of the loop over ''t'' may depend on each other: two points may store to the same element of ''y''
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128>>>(y, x + t * n, 2.0f, n);
  // CHECK: ''y'' and ''x'' both lead to ''x'', where a launch may store what a later one uses
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128>>>(x + (t + 1) * n, x + t * n, 2.0f, n);
  // CHECK: may depend on each other: {{.*}} of ''y''
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128>>>(y + t * (n - 1), x + t * n, 2.0f, n);
  // CHECK: may depend on each other: {{.*}} of ''y''
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128>>>(y + t * stride, x + t * n, 2.0f, n);
  // CHECK: the loop at line [[#@LINE+1]] launches another kernel at line [[#@LINE+3]]
  for (int t = 0; t < times; ++t) {
    scale<<<blocks, 128>>>(y + t * n, x, 2.0f, n);
    stepUp<<<blocks, 128>>>(x, 1, n);
  }
  // CHECK: the loop at line [[#@LINE+1]] does more at line [[#@LINE+3]], which may need what the launch computes
  for (int t = 0; t < times; ++t) {
    scale<<<blocks, 128>>>(y + t * n, x, 2.0f, n);
    cudaMemcpy(host, y, n * sizeof(float), cudaMemcpyDeviceToHost);
  }
  // CHECK: the loop at line [[#@LINE+1]] does something for each launch at line [[#@LINE+3]]
  for (int t = 0; t < times; ++t) {
    scale<<<blocks, 128>>>(y + t * n, x, 2.0f, n);
    printf("launched\n");
  }
  // CHECK: what is passed for ''a'' differs between the launches, and it is no ''int''
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128>>>(y + t * n, x, factors[t], n);
  // CHECK: ''sizes.count{{\[}}t]'' at line [[#@LINE+2]] is no sum of multiples of ''t''
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128>>>(y + t * n, x, 2.0f, sizes.count[t]);
  // CHECK: how much a launch computes depends on ''t''
  for (int t = 1; t < times; ++t)
    scale<<<(t + 127) / 128, 128>>>(y + t * n, x, 2.0f, t);
  // CHECK: whether ''(long long)128 * blocks >= t'' holds may differ between the launches
  for (int t = 1; t < times; ++t)
    scale<<<blocks, 128>>>(y + t * n, x, 2.0f, t);
  // CHECK: ''all{{\[}}t]'' at line [[#@LINE+2]] is no array and a multiple of ''t''
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128>>>(all[t], x, 2.0f, n);
  // CHECK: ''t * wide'' at line [[#@LINE+2]] is computed in a type that may wrap
  for (unsigned t = 0; t < wide; ++t)
    scale<<<blocks, 128>>>(y + t * wide, x, 2.0f, n);
  // CHECK: the launches are on streams of their own
  for (int t = 0; t < times; ++t)
    scale<<<blocks, 128, 0, streams[t]>>>(y + t * n, x, 2.0f, n);
  // CHECK: the launches of the loop over ''r'' may depend on each other: two points may store to the same element of ''y''
  for (int t = 0; t < times; ++t)
    for (int r = 0; r < t; ++r)
      scale<<<blocks, 128>>>(y, x + r * n, 2.0f, n);
  // CHECK: the loop at line [[#@LINE+1]] compares its variable without a sign, and may begin below 0
  for (int t = -1; t < wide; ++t)
    scale<<<blocks, 128>>>(y + t * n, x, 2.0f, n);
  // CHECK: the loop at line [[#@LINE+1]] does not count up one by one
  for (int t = 0; t < times; t += 2)
    scale<<<blocks, 128>>>(y + t * n, x, 2.0f, n);
}
