// Products of two row-major half and bf16 matrices with f32 sums as one would first write them. bench/corpus.json has their sizes.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void hgemmKernel(half *c, const half *a, const half *b, int m, int n, int k) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += __half2float(a[row * k + i]) * __half2float(b[i * n + column]);
    c[row * n + column] = __float2half(sum);
  }
}

void hgemm(half *c, const half *a, const half *b, int m, int n, int k) {
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  hgemmKernel<<<grid, block>>>(c, a, b, m, n, k);
}

__global__ void bgemmKernel(__nv_bfloat16 *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b, int m, int n, int k) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
      sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[i * n + column]);
    c[row * n + column] = __float2bfloat16(sum);
  }
}

void bgemm(__nv_bfloat16 *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b, int m, int n, int k) {
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  bgemmKernel<<<grid, block>>>(c, a, b, m, n, k);
}
