#include <cuda_runtime.h>
#include <cuda_bf16.h>

__global__ void addUp(float *sum, const __nv_bfloat16 *x, int n) {
  float own = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    own += __bfloat162float(x[i]);
  atomicAdd(sum, own);
}

// Launches what is not here.
extern "C" void total_bf16(float *sum, const __nv_bfloat16 *x, int n) {
  addUpAll<<<1, 64>>>(sum, x, n);
  cudaDeviceSynchronize();
}
