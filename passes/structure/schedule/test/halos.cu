// Tiles with a halo, vectors in shared memory, numbers of a block and prefix sums compute the same on another schedule. Where an element is read that nothing
// stored, nothing is judged correct.
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

// Which thread fills the rim is not known beforehand.
__global__ void ends(const float *in, float *out, int W, int H) {
  __shared__ float s[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  if (x < W && y < H) {
    s[ly][lx] = in[y * W + x];
    if (threadIdx.x == 0)
      s[ly][0] = x > 0 ? in[y * W + x - 1] : 0.0f;
    if (threadIdx.x == 15 || x == W - 1)
      s[ly][lx + 1] = x < W - 1 ? in[y * W + x + 1] : 0.0f;
    if (threadIdx.y == 0)
      s[0][lx] = y > 0 ? in[(y - 1) * W + x] : 0.0f;
    if (threadIdx.y == 15 || y == H - 1)
      s[ly + 1][lx] = y < H - 1 ? in[(y + 1) * W + x] : 0.0f;
  }
  __syncthreads();
  if (x < W && y < H)
    out[y * W + x] = 0.5f * s[ly][lx] + 0.125f * (s[ly - 1][lx] + s[ly + 1][lx] + s[ly][lx - 1] + s[ly][lx + 1]);
}

__global__ void inner(const float *in, float *out, int W, int H) {
  __shared__ float s[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 14 + tx, y = blockIdx.y * 14 + ty;
  s[ty][tx] = (x < W && y < H) ? in[y * W + x] : 0.0f;
  __syncthreads();
  if (tx > 0 && tx < 15 && ty > 0 && ty < 15 && x < W && y < H)
    out[y * W + x] = s[ty][tx - 1] + s[ty + 1][tx];
}

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

__global__ void numbers(float *sum, const float *x, const int *ids) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ int id[4];
  if (threadIdx.x < 4)
    id[threadIdx.x] = ids[threadIdx.x];
  __syncthreads();
  for (int t = 0; t < 4; ++t)
    atomicAdd(&sum[id[t]], x[i] * t);
}

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
  ends<<<grid, block>>>(y, x, W, H);
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
