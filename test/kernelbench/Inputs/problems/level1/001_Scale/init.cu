#include <cuda_fp16.h>
#include <stdint.h>

__global__ void scaleKernel(__half *y, const __half *x, float a, int64_t total) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < total)
    y[i] = __float2half(a * __half2float(x[i]));
}

void launch_gpu_implementation(void *output, void *input, float factor, int64_t rows, int64_t columns) {
  int64_t total = rows * columns;
  scaleKernel<<<(total + 255) / 256, 256>>>(static_cast<__half *>(output), static_cast<const __half *>(input), factor, total);
  cudaDeviceSynchronize();
}
