// One odd pointer or size, and every element is loaded by itself.
#include <cstdint>

__global__ void scale(const float *x, float *y, float a, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  bool whole = n % 4 == 0 && (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) % 16 == 0;
  if (whole) {
    for (int v = thread; v < n / 4; v += threads) {
      float4 q = reinterpret_cast<const float4 *>(x)[v];
      reinterpret_cast<float4 *>(y)[v] = make_float4(a * q.x, a * q.y, a * q.z, a * q.w);
    }
  } else {
    for (int i = thread; i < n; i += threads)
      y[i] = a * x[i];
  }
}

void run(const float *x, float *y, float a, int n) {
  scale<<<8, 128>>>(x, y, a, n);
}
