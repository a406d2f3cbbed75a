#include <cuda_runtime.h>
#include <cuda_bf16.h>

__global__ void scaleKernel(__nv_bfloat16 *y, const __nv_bfloat16 *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = __float2bfloat16(a * __bfloat162float(x[i]));
}

extern "C" void scale_bf16(__nv_bfloat16 *y, const __nv_bfloat16 *x, float a, int rows, int columns) {
  int n = rows * columns;
  scaleKernel<<<(n + 127) / 128, 128>>>(y, x, a, n);
  cudaDeviceSynchronize();
}
