// Vectors from the first multiple of 16 bytes on; up to three elements before them, and up to three after.
#include <cstdint>

__global__ void scale(const float *x, float *y, float a, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  uintptr_t from = reinterpret_cast<uintptr_t>(x), to = reinterpret_cast<uintptr_t>(y);
  if (from % 16 == to % 16) {
    int head = min(static_cast<int>((16 - from % 16) % 16 / sizeof(float)), n);
    int vectors = (n - head) / 4, tail = head + 4 * vectors;
    if (thread < head)
      y[thread] = a * x[thread];
    if (thread < n - tail)
      y[tail + thread] = a * x[tail + thread];
    for (int v = thread; v < vectors; v += threads) {
      float4 q = reinterpret_cast<const float4 *>(x + head)[v];
      reinterpret_cast<float4 *>(y + head)[v] = make_float4(a * q.x, a * q.y, a * q.z, a * q.w);
    }
  } else { // no head makes both of them aligned
    for (int i = thread; i < n; i += threads)
      y[i] = a * x[i];
  }
}

void run(const float *x, float *y, float a, int n) {
  scale<<<8, 128>>>(x, y, a, n);
}
