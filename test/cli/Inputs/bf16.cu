#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
__global__ void a1(__nv_bfloat162 *x, __nv_bfloat162 v) { atomicAdd(x, v); }
__global__ void a2(__nv_bfloat16 *x, __nv_bfloat16 v) { atomicAdd(x, v); }
__global__ void a3(__nv_bfloat16 *x, float v) { x[threadIdx.x] = (__nv_bfloat16)v; }
int main() {
  __nv_bfloat162 *x;
  cudaMalloc(&x, 256);
  cudaMemset(x, 0, 256);
  a1<<<1, 32>>>(x, __nv_bfloat162{1.f, 2.f});
  a2<<<1, 32>>>((__nv_bfloat16 *)x + 2, __nv_bfloat16(1.f));
  a3<<<1, 4>>>((__nv_bfloat16 *)x + 4, 3.f);
  unsigned short h[8];
  cudaMemcpy(h, x, 16, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 8; ++i)
    printf("%04x ", h[i]);
  printf("\n");
}
