// RUN: kb-opt --quiet -passes='schedule{kernel=vectors as="map"},schedule{kernel=pairs as="rows team=32"},schedule{kernel=arrays as="rows team=32"},schedule{kernel=padded as="map"},schedule{kernel=tiles as="map"},schedule{kernel=blocks as="rows team=64"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s %}
// JUDGED: {{^}}correct
// kb-workload:
//   entry: run
//   sizes: {n: 33, m: 61}
//   test-sizes: [{n: 1, m: 1}, {n: 5, m: 130}]
//   parameters:
//     - {name: v, type: f32, shape: "2 * n", role: out}
//     - {name: p, type: f32, shape: "n", role: out}
//     - {name: s, type: f32, shape: "2 * n", role: out}
//     - {name: w, type: f32, shape: "n", role: out}
//     - {name: t, type: f32, shape: "n * m", role: out}
//     - {name: b, type: f32, shape: "n", role: out}
//     - {name: x, type: f32, shape: "4 * n * m", role: in, init: "uniform(-1, 1)"}
//     - {name: n, value: n}
//     - {name: m, value: m}

#include <cub/cub.cuh>

// CHECK: vectors_{{.*}}<<<
// CHECK: pairs_{{.*}}<<<
// CHECK: arrays_{{.*}}<<<
// CHECK: padded_{{.*}}<<<
// CHECK: tiles_{{.*}}<<<
// CHECK: blocks_{{.*}}<<<

__global__ void vectors(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float2 v = reinterpret_cast<const float2 *>(x)[i];
    v.x = fmaxf(v.x, v.y);
    reinterpret_cast<float2 *>(y)[i] = make_float2(v.x, 2.0f * v.y);
  }
}

__global__ void pairs(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0.0f;
  int j = 0;
  for (; j + 1 < m; j += 2)
    sum += x[i * m + j] * x[i * m + j + 1];
  for (; j < m; ++j)
    sum += x[i * m + j];
  y[i] = sum;
}

__global__ void arrays(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float acc[2] = {};
  for (int j = 0; j < m; ++j)
    for (int k = 0; k < 2; ++k)
      acc[k] += x[(2 * i + k) * m + j];
  for (int k = 0; k < 2; ++k)
    y[2 * i + k] = acc[k];
}

__global__ void padded(float *y, const float *x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0.0f;
  for (int k = 0; k < m; ++k)
    sum += i + k >= 2 && i + k - 2 < n ? x[i + k - 2] : 0.0f;
  y[i] = sum;
}

__global__ void tiles(float *y, const float *x, int n, int m) {
  int first = blockIdx.x * 4;
  for (int r = first; r < min(first + 4, n); ++r)
    for (int c = threadIdx.x; c < m; c += blockDim.x)
      y[r * m + c] = 2.0f * x[r * m + c];
}

__global__ void blocks(float *y, const float *x, int m) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = 0.0f;
  for (int j = threadIdx.x; j < m; j += blockDim.x)
    sum += x[blockIdx.x * m + j];
  sum = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0)
    y[blockIdx.x] = sum;
}

void run(float *v, float *p, float *s, float *w, float *t, float *b, const float *x, int n, int m) {
  vectors<<<(n + 127) / 128, 128>>>(v, x, n);
  pairs<<<(n + 127) / 128, 128>>>(p, x, n, m);
  arrays<<<(n + 127) / 128, 128>>>(s, x, n, m);
  padded<<<(n + 127) / 128, 128>>>(w, x, n, m);
  tiles<<<(n + 3) / 4, 64>>>(t, x, n, m);
  blocks<<<n, 128>>>(b, x, m);
}
