// A blur of nine neighbours with weights, whose sum keeps its order in every variant.
// control 1: a tile with its border in shared memory
// control 2: weights in a constant table of the device
// control 3: weights in __constant__ memory
// control 4: two pixels a thread
// control 5: rows rolled through registers, one thread a column of eight pixels
// control 6: a template over the radius, unrolled
// control 7: a loop over the grid
// control 8: __ldg and __restrict__
// control 9: a lambda for the clamped read
// control 10: offsets from a table of integers
// control 11: three rows in shared memory, filled by float4 where they can
// control 12: inline PTX for the fused operation and the predicate
// REQUIRES: long
#include "harness.h"

__device__ __forceinline__ float weight(int dy, int dx) {
  return (dx == 0 ? 2.0f : 1.0f) * (dy == 0 ? 2.0f : 1.0f) / 16.0f;
}

#if VARIANT == 2
__device__ const float table[9] = {0.0625f, 0.125f, 0.0625f, 0.125f, 0.25f, 0.125f, 0.0625f, 0.125f, 0.0625f};
#elif VARIANT == 3
__constant__ float table[9] = {0.0625f, 0.125f, 0.0625f, 0.125f, 0.25f, 0.125f, 0.0625f, 0.125f, 0.0625f};
#elif VARIANT == 10
__device__ const int2 offsets[9] = {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {0, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}};
#elif VARIANT == 6
template <int radius> __device__ float around(const float *in, int x, int y, int width, int height) {
  float sum = 0;
#pragma unroll
  for (int dy = -radius; dy <= radius; ++dy)
#pragma unroll
    for (int dx = -radius; dx <= radius; ++dx)
      sum += weight(dy, dx) * in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
  return sum;
}
#endif

__device__ float blurred(const float *in, int x, int y, int width, int height) {
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
#if VARIANT == 2 || VARIANT == 3
      sum += table[(dy + 1) * 3 + dx + 1] * in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
#else
      sum += weight(dy, dx) * in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
#endif
  return sum;
}

__global__ void blur(const float *in, float *out, int width, int height) {
#if VARIANT == 1
  __shared__ float tile[10][18];
  const int left = blockIdx.x * 16 - 1, top = blockIdx.y * 8 - 1;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 10 * 18; i += 128)
    tile[i / 18][i % 18] = in[min(max(top + i / 18, 0), height - 1) * width + min(max(left + i % 18, 0), width - 1)];
  __syncthreads();
  const int x = left + 1 + threadIdx.x, y = top + 1 + threadIdx.y;
  if (x < width && y < height) {
    float sum = 0;
    for (int dy = 0; dy < 3; ++dy)
      for (int dx = 0; dx < 3; ++dx)
        sum += weight(dy - 1, dx - 1) * tile[threadIdx.y + dy][threadIdx.x + dx];
    out[y * width + x] = sum;
  }
#elif VARIANT == 4
  for (int part = 0; part < 2; ++part) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y / 2 * 2 + part;
    if (threadIdx.y % 2 == 0 && x < width && y < height)
      out[y * width + x] = blurred(in, x, y, width, height);
  }
#elif VARIANT == 5
  const int x = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.y != 0 || x >= width)
    return;
  const int left = max(x - 1, 0), right = min(x + 1, width - 1), first = blockIdx.y * 8;
  float rows[3][3];
  auto load = [&](int y, float (&row)[3]) {
    const float *from = in + min(max(y, 0), height - 1) * width;
    row[0] = from[left], row[1] = from[x], row[2] = from[right];
  };
  load(first - 1, rows[0]);
  load(first, rows[1]);
  for (int y = first; y < min(first + 8, height); ++y) {
    load(y + 1, rows[2]);
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 3; ++dy)
#pragma unroll
      for (int dx = 0; dx < 3; ++dx)
        sum += weight(dy - 1, dx - 1) * rows[dy][dx];
    out[y * width + x] = sum;
#pragma unroll
    for (int dx = 0; dx < 3; ++dx)
      rows[0][dx] = rows[1][dx], rows[1][dx] = rows[2][dx];
  }
#elif VARIANT == 7
  const int threads = gridDim.x * gridDim.y * 128;
  const int first = (blockIdx.y * gridDim.x + blockIdx.x) * 128 + threadIdx.y * 16 + threadIdx.x;
  for (int i = first; i < width * height; i += threads)
    out[i] = blurred(in, i % width, i / width, width, height);
#elif VARIANT == 11
  __shared__ __align__(16) float rows[3][96];
  const int thread = threadIdx.y * 16 + threadIdx.x;
  for (int y = blockIdx.y * gridDim.x + blockIdx.x; y < height; y += gridDim.x * gridDim.y) {
    for (int dy = 0; dy < 3; ++dy) {
      const float *from = in + min(max(y + dy - 1, 0), height - 1) * width;
      if (width % 4 == 0) {
        if (thread < width / 4)
          reinterpret_cast<float4 *>(rows[dy])[thread] = reinterpret_cast<const float4 *>(from)[thread];
      } else if (thread < width) {
        rows[dy][thread] = from[thread];
      }
    }
    __syncthreads();
    if (thread < width) {
      float sum = 0;
      for (int dy = 0; dy < 3; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          sum += weight(dy - 1, dx) * rows[dy][min(max(thread + dx, 0), width - 1)];
      out[y * width + thread] = sum;
    }
    __syncthreads();
  }
#else
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height)
    return;
#if VARIANT == 6
  out[y * width + x] = around<1>(in, x, y, width, height);
#elif VARIANT == 8
  const float *__restrict__ from = in;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      sum += weight(dy, dx) * __ldg(from + min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1));
  out[y * width + x] = sum;
#elif VARIANT == 9
  auto at = [&](int dy, int dx) { return in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)]; };
  float sum = 0;
  sum += weight(-1, -1) * at(-1, -1);
  sum += weight(-1, 0) * at(-1, 0);
  sum += weight(-1, 1) * at(-1, 1);
  sum += weight(0, -1) * at(0, -1);
  sum += weight(0, 0) * at(0, 0);
  sum += weight(0, 1) * at(0, 1);
  sum += weight(1, -1) * at(1, -1);
  sum += weight(1, 0) * at(1, 0);
  sum += weight(1, 1) * at(1, 1);
  out[y * width + x] = sum;
#elif VARIANT == 10
  float sum = 0;
  for (int k = 0; k < 9; ++k)
    sum += weight(offsets[k].y, offsets[k].x) *
           in[min(max(y + offsets[k].y, 0), height - 1) * width + min(max(x + offsets[k].x, 0), width - 1)];
  out[y * width + x] = sum;
#elif VARIANT == 12
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      const float value = in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
      asm("{ .reg .pred inside; setp.ge.s32 inside, %3, 0; @inside fma.rn.f32 %0, %1, %2, %0; }"
          : "+f"(sum) : "f"(weight(dy, dx)), "f"(value), "r"(x));
    }
  out[y * width + x] = sum;
#else
  out[y * width + x] = blurred(in, x, y, width, height);
#endif
#endif
}

int main() {
  const int width = 76, height = 30;
  float *in = toDevice(randomVector<float>(width * height, 4));
  float *out = onDevice<float>(width * height);
  blur<<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(in, out, width, height);
  return finish(out, width * height);
}
