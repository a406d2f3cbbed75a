// Tiles with a halo, vectors in shared memory, numbers of a block and prefix sums compute the same on another schedule. Where an element is read that nothing
// stored, nothing is judged correct.
// RUN: kb-opt --emit=kb-nest %s | FileCheck --check-prefix=NEST %s
// RUN: kb-opt --quiet -passes='schedule{kernel=padded as="map block=64"},schedule{kernel=edges as="map"},schedule{kernel=ends as="map"},schedule{kernel=inner as="map"},schedule{kernel=flat as="map block=128"},schedule{kernel=numbers as="map block=64"},schedule{kernel=vectors as="rows team=64"},schedule{kernel=plain as="map block=64"},schedule{kernel=prefix as="rows team=32"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// RUN: not kb-opt --judge=%t.cu --promise=reassociates %s -- -DFILLED=63 | FileCheck --check-prefix=UNFILLED %s
// CHECK: padded_{{.*}}<<<
// CHECK: edges_{{.*}}<<<
// CHECK: ends_{{.*}}<<<
// CHECK: inner_{{.*}}<<<
// CHECK: flat_{{.*}}<<<
// CHECK: numbers_{{.*}}<<<
// CHECK: vectors_{{.*}}<<<
// CHECK: plain_{{.*}}<<<
// CHECK: prefix_{{.*}}<<<
// JUDGED: {{^}}correct
// UNFILLED-NOT: {{^}}correct
// UNFILLED: uninitialised-shared in plain
#include <cstdio>
#include <vector>
#ifndef FILLED
#define FILLED 64
#endif

// Zeros outside, asked by each store as far as it can happen there.
// NEST: kb.nest @_Z6padded{{.*}} dims ["g"]
// NEST: kb.let "sValue" : "float" "0.0f"
// NEST-NEXT: kb.when "" [] where <over [g, o] with [n] : n + 2 - o - g >= 0, g + o - 3 >= 0 exact>
// NEST-NEXT: kb.let "sValue" : "" "$0" [{{.*}} : g + o - 3>>] reassigns
// NEST-NOT: kb.when
// NEST: kb.store
__global__ void padded(const float *in, float *out, int n) {
  __shared__ float s[128 + 2 * 3];
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + 3;
  s[l] = g < n ? in[g] : 0.0f;
  if (threadIdx.x < 3) {
    s[l - 3] = g >= 3 ? in[g - 3] : 0.0f;
    s[l + blockDim.x] = g + blockDim.x < n ? in[g + blockDim.x] : 0.0f;
  }
  __syncthreads();
  if (g < n) {
    float sum = 0;
    for (int o = -3; o <= 3; ++o)
      sum += s[l + o];
    out[g] = sum;
  }
}

// Threads at the edge of a block fill the edges of the tile.
// NEST: kb.nest @_Z5edges{{.*}} dims ["y", "x"]{{.*}} {
// NEST: where <over [y, x] : y - 1 >= 0 exact>
// NEST: where <over [y, x] with [H] : H - y - 2 >= 0 exact>
// NEST: where <over [y, x] : x - 1 >= 0 exact>
// NEST: where <over [y, x] with [W] : W - x - 2 >= 0 exact>
// NEST-NOT: kb.when
// NEST: kb.store
__global__ void edges(const float *in, float *out, int W, int H) {
  __shared__ float s[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  if (x < W && y < H) {
    s[ly][lx] = in[y * W + x];
    if (threadIdx.x == 0)
      s[ly][0] = x > 0 ? in[y * W + x - 1] : 0.0f;
    if (threadIdx.x == 15)
      s[ly][17] = x < W - 1 ? in[y * W + x + 1] : 0.0f;
    if (threadIdx.y == 0)
      s[0][lx] = y > 0 ? in[(y - 1) * W + x] : 0.0f;
    if (threadIdx.y == 15)
      s[17][lx] = y < H - 1 ? in[(y + 1) * W + x] : 0.0f;
  }
  __syncthreads();
  if (x < W && y < H)
    out[y * W + x] = 0.5f * s[ly][lx] + 0.125f * (s[ly - 1][lx] + s[ly + 1][lx] + s[ly][lx - 1] + s[ly][lx + 1]);
}

// Which thread fills the rim is not known beforehand: nothing before the array is loaded for it.
__global__ void ends(const float *in, float *out, int n) {
  __shared__ float s[64 + 1];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) {
    s[threadIdx.x + 1] = in[i];
    if (threadIdx.x == 0 || i == 0)
      s[threadIdx.x] = i > 0 ? in[i - 1] : 0.0f;
  }
  __syncthreads();
  if (i < n)
    out[i] = s[threadIdx.x + 1] + 2.0f * s[threadIdx.x];
}

// A block reads more than it writes.
// NEST: kb.nest @_Z5inner{{.*}} dims ["{{[^"]*}}", "{{[^"]*}}"] extents [#kb.expr<{{[^:]*}} : H - 1>, #kb.expr<{{[^:]*}} : W - 1>]
// NEST: kb.store
__global__ void inner(const float *in, float *out, int W, int H) {
  __shared__ float s[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 14 + tx, y = blockIdx.y * 14 + ty;
  s[ty][tx] = (x < W && y < H) ? in[y * W + x] : 0.0f;
  __syncthreads();
  if (tx > 0 && tx < 15 && ty > 0 && ty < 15 && x < W && y < H)
    out[y * W + x] = s[ty][tx - 1] + s[ty + 1][tx];
}

// All threads go over its elements one after the other.
// NEST: kb.nest @_Z4flat{{.*}} dims ["y", "x"]
// NEST: where <over [y, x, dy, dx] with [r, W, H] : x + dx - r >= 0, W + r - x - dx - 1 >= 0, y + dy - r >= 0, H + r - y - dy - 1 >= 0 exact>
// NEST: kb.store
__global__ void flat(const float *in, float *out, int r, int W, int H) {
  extern __shared__ float tile[];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int tw = blockDim.x + 2 * r, th = blockDim.y + 2 * r;
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < tw * th; i += blockDim.x * blockDim.y) {
    int ly = i / tw, lx = i % tw;
    int gx = blockIdx.x * blockDim.x + lx - r, gy = blockIdx.y * blockDim.y + ly - r;
    tile[i] = (gx >= 0 && gx < W && gy >= 0 && gy < H) ? in[gy * W + gx] : 0.0f;
  }
  __syncthreads();
  if (x < W && y < H) {
    float s = 0;
    for (int dy = 0; dy <= 2 * r; ++dy)
      for (int dx = 0; dx <= 2 * r; ++dx)
        s += tile[(threadIdx.y + dy) * tw + threadIdx.x + dx];
    out[y * W + x] = s;
  }
}

// The block's numbers lie in shared memory.
// NEST: kb.nest @_Z7numbers{{.*}} dims ["i"] extents [#kb.expr<over [i] : gdim.x * 64>]
// NEST: kb.let "index" : "int" "$0" [{{.*}}"ids"{{.*}} : t>>]
// NEST: kb.store <element <argument "sum" {{.*}} : index>> atomic "atomicAdd"
__global__ void numbers(float *sum, const float *x, const int *ids) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ int id[4];
  if (threadIdx.x < 4)
    id[threadIdx.x] = ids[threadIdx.x];
  __syncthreads();
  for (int t = 0; t < 4; ++t)
    atomicAdd(&sum[id[t]], x[i] * t);
}

// Sums of vectors are sums of their parts.
// NEST: kb.nest @_Z7vectors
// NEST: kb.over {{.*}} reduction {{.*}} team
// NEST: kb.reduce "s_x" "add"
// NEST: kb.reduce "s_y" "add"
// NEST: kb.store {{.*}} "make_float2(s_x, s_y)"
__global__ void vectors(const float2 *x, float2 *out, int n) {
  __shared__ float2 sm[256];
  int t = threadIdx.x;
  float2 s = make_float2(0, 0);
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
    float2 v = x[i];
    s.x += v.x;
    s.y += v.y;
  }
  sm[t] = s;
  __syncthreads();
  for (int h = 128; h > 0; h >>= 1) {
    if (t < h) {
      sm[t].x += sm[t + h].x;
      sm[t].y += sm[t + h].y;
    }
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = sm[0];
}

__global__ void plain(float *y, const float *x) {
  __shared__ float copy[64];
  if (threadIdx.x < FILLED)
    copy[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = copy[63 - threadIdx.x];
}

__global__ void prefix(float *y, const float *x) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  for (int o = 1; o < 64; o *= 2) {
    float v = t >= o ? s[t - o] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  y[blockIdx.x * 64 + t] = s[t] - s[63];
}

int main() {
  const int W = 64, H = 48, n = W * H, r = 2;
  std::vector<float> host(n + 64);
  for (int i = 0; i < n; ++i)
    host[i] = (i * 7 % 31) - 15;
  float *x, *y, *sums;
  float2 *pairs;
  int *ids, numbered[] = {5, 0, 5, 2};
  cudaMalloc(&x, (n + 64) * sizeof(float));
  cudaMalloc(&y, (n + 64) * sizeof(float));
  cudaMalloc(&sums, 8 * sizeof(float));
  cudaMalloc(&pairs, 4 * sizeof(float2));
  cudaMalloc(&ids, sizeof numbered);
  cudaMemcpy(x, host.data(), (n + 64) * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(y, 0, (n + 64) * sizeof(float));
  cudaMemset(sums, 0, 8 * sizeof(float));
  cudaMemcpy(ids, numbered, sizeof numbered, cudaMemcpyHostToDevice);
  dim3 block(16, 16), grid((W + 15) / 16, (H + 15) / 16);
  padded<<<(n + 127) / 128, 128>>>(x, y, n);
  edges<<<grid, block>>>(x, y, W, H);
  ends<<<n / 64, 64>>>(y, x, n);
  inner<<<dim3((W + 13) / 14, (H + 13) / 14), block>>>(x, y, W, H);
  flat<<<grid, block, (16 + 2 * r) * (16 + 2 * r) * sizeof(float)>>>(y, x, r, W, H);
  numbers<<<4, 64>>>(sums, x, ids);
  vectors<<<4, 256>>>((const float2 *)x, pairs, n / 2);
  plain<<<n / 64, 64>>>(y, x);
  prefix<<<n / 64, 64>>>(x, y);
  float total[8];
  cudaMemcpy(total, sums, sizeof total, cudaMemcpyDeviceToHost);
  cudaMemcpy(host.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = total[5] + total[2];
  float first;
  cudaMemcpy(&first, x + 3, sizeof first, cudaMemcpyDeviceToHost);
  sum += first;
  for (int i = 0; i < n; ++i)
    sum += host[i];
  cudaMemcpy(total, pairs, sizeof total, cudaMemcpyDeviceToHost);
  printf("%f %f\n", sum, total[3]);
}
