// Halves, scaled and added in half.
// control 1: two at once
// control 2: four at once by a load of eight bytes
// control 3: a loop over the grid
#include "harness.h"
#include <cuda_fp16.h>

__global__ void scaleAndAdd(const __half *x, const __half *z, __half *y, int n) {
  const __half factor = __float2half(1.5f);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VARIANT == 1 || VARIANT == 2
  const int width = VARIANT == 1 ? 2 : 4;
  const __half2 factors = __half2half2(factor);
  if (i * width + width <= n) {
#if VARIANT == 1
    reinterpret_cast<__half2 *>(y)[i] =
        __hfma2(factors, reinterpret_cast<const __half2 *>(x)[i], reinterpret_cast<const __half2 *>(z)[i]);
#else
    const uint2 a = reinterpret_cast<const uint2 *>(x)[i], b = reinterpret_cast<const uint2 *>(z)[i];
    __half2 first = __hfma2(factors, *reinterpret_cast<const __half2 *>(&a.x), *reinterpret_cast<const __half2 *>(&b.x));
    __half2 second = __hfma2(factors, *reinterpret_cast<const __half2 *>(&a.y), *reinterpret_cast<const __half2 *>(&b.y));
    reinterpret_cast<uint2 *>(y)[i] = make_uint2(*reinterpret_cast<unsigned *>(&first), *reinterpret_cast<unsigned *>(&second));
#endif
    return;
  }
  for (int k = i * width; k < n; ++k)
    y[k] = __hfma(factor, x[k], z[k]);
#elif VARIANT == 3
  for (int k = i; k < n; k += gridDim.x * blockDim.x)
    y[k] = __hfma(factor, x[k], z[k]);
#else
  if (i < n)
    y[i] = __hfma(factor, x[i], z[i]);
#endif
}

int main() {
  const int n = 1001;
  std::vector<__half> x(n), z(n);
  unsigned seed = 3;
  for (int i = 0; i < n; ++i) {
    x[i] = __float2half(uniform(seed) * 8);
    z[i] = __float2half(uniform(seed) * 8);
  }
  __half *first = toDevice(x), *second = toDevice(z), *y = onDevice<__half>(n);
  scaleAndAdd<<<(n + 127) / 128, 128>>>(first, second, y, n);
  cudaMemcpy(x.data(), y, n * sizeof(__half), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (__half value : x)
    sum += __half2float(value);
  std::printf("%.3f\n", sum);
}
