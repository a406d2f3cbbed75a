// Shared memory as people use it computes the same on another schedule: sums of the thread's own element, bins, transposes with padding, groups of
// lanes that stage a row, functions around CUB, tables, bodies.
// RUN: kb-opt --emit=kb-nest %s | FileCheck --check-prefix=NEST %s
// RUN: kb-opt --quiet -passes='schedule{kernel=accum as="rows team=128"},schedule{kernel=histo as="map"},schedule{kernel=transposed as="map"},schedule{kernel=groups as="rows team=32"},schedule{kernel=wrapped as="rows team=64"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// CHECK: accum_{{.*}}<<<
// CHECK: wrapped_{{.*}}<<<
// CHECK: histo_{{.*}}<<<
// CHECK: transposed_{{.*}}<<<
// CHECK: groups_{{.*}}<<<
#include <cstdio>
#include <cub/cub.cuh>
#include <vector>

// NEST: kb.nest @_Z5accum
// NEST: kb.over "i" reduction extent <{{.*}} : n> team
__global__ void accum(float *y, const float *x, int n) {
  __shared__ float sm[256];
  int t = threadIdx.x;
  sm[t] = 0.0f;
  for (int i = t; i < n; i += 256)
    sm[t] += x[blockIdx.x * n + i];
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s)
      sm[t] += sm[t + s];
    __syncthreads();
  }
  if (t == 0)
    y[blockIdx.x] = sm[0];
}

template <int N> __device__ float blockSum(float v) {
  using Reduce = cub::BlockReduce<float, N>;
  __shared__ typename Reduce::TempStorage storage;
  return Reduce(storage).Sum(v);
}
// NEST: kb.nest @_Z7wrapped
// NEST: kb.over "i" reduction extent <{{.*}} : m> team
__global__ void wrapped(float *y, const float *x, int m) {
  float s = 0;
  for (int i = threadIdx.x; i < m; i += 128)
    s += x[blockIdx.x * m + i];
  s = blockSum<128>(s);
  if (threadIdx.x == 0)
    y[blockIdx.x] = s;
}

// NEST: kb.nest @_Z5histo{{.*}} dims ["i"]
// NEST: kb.store <element <argument "h" argument 0> {{.*}} : x_index>> atomic "atomicAdd" "1u"
__global__ void histo(unsigned *h, const unsigned char *x, int n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[x[i]], 1u);
  __syncthreads();
  atomicAdd(&h[threadIdx.x], bins[threadIdx.x]);
}

// NEST: kb.nest @_Z10transposed
// NEST-NOT: kb.unraised
__global__ void transposed(float *out, const float *in, int w, int h) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < w && y + j < h)
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < h && y + j < w)
      out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

// NEST: kb.nest @_Z6groups{{.*}} dims ["group"]
// NEST: kb.over "i" reduction extent <{{.*}} : size> team
__global__ void groups(const float *in, float *out, int size) {
  extern __shared__ float raw[];
  const int lane = threadIdx.x % 16, local = threadIdx.x / 16, group = blockIdx.x * 16 + local;
  float top = 1e-9f;
  for (int i = lane; i < size; i += 16) {
    raw[local * size + i] = in[group * size + i];
    top = fmaxf(top, fabsf(raw[local * size + i]));
  }
  for (int d = 8; d > 0; d /= 2)
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
  for (int i = lane; i < size; i += 16)
    out[group * size + i] = raw[local * size + i] / top;
}

int main() {
  const int rows = 64, n = 300, w = 90, h = 70;
  std::vector<float> host(rows * n);
  std::vector<unsigned char> bytes(rows * n);
  for (int i = 0; i < rows * n; ++i) {
    host[i] = (i * 7919 % 1000) / 64.0f - 5;
    bytes[i] = i * 31 % 251;
  }
  float *x, *y;
  unsigned char *c;
  unsigned *bins;
  cudaMalloc(&x, rows * n * sizeof(float));
  cudaMalloc(&y, rows * n * sizeof(float));
  cudaMalloc(&c, rows * n);
  cudaMalloc(&bins, 256 * sizeof(unsigned));
  cudaMemset(y, 0, rows * n * sizeof(float));
  cudaMemset(bins, 0, 256 * sizeof(unsigned));
  cudaMemcpy(x, host.data(), rows * n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(c, bytes.data(), rows * n, cudaMemcpyHostToDevice);
  accum<<<rows, 256>>>(y, x, n);
  wrapped<<<rows, 128>>>(y + rows, x, n);
  histo<<<8, 256>>>(bins, c, rows * n);
  transposed<<<dim3(3, 3), dim3(32, 8)>>>(y + 2 * rows, x, w, h);
  groups<<<2, 256, 16 * n * sizeof(float)>>>(x, y + 2 * rows + w * h, n);
  cudaMemcpy(host.data(), y, rows * n * sizeof(float), cudaMemcpyDeviceToHost);
  std::vector<unsigned> counts(256);
  cudaMemcpy(counts.data(), bins, 256 * sizeof(unsigned), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (float each : host)
    sum += each;
  printf("%f %u\n", sum, counts[17]);
}
