// Products of halves and bf16 by wgmma, in all orders of their operands, with what stands before and after the sum, in batches, and of sizes
// and pointers that need another kernel. Only a program that is compiled for sm_90a and nothing else gets them.
// RUN: kb-opt -arch=sm_90a -passes="schedule{as='contraction unit=wgmma load=async bm=128 bn=128 bk=64 tm=64 tn=128 stages=4'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s -- -arch=sm_90a | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt -arch=sm_90a -passes="schedule{as='contraction unit=wgmma load=async bm=64 bn=64 bk=64 tm=64 tn=64 stages=3 otherwise=1'}" --quiet -o %t.small.cu %s
// RUN: %code %t.small.cu | FileCheck --check-prefix=SMALL %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.small.cu --promise=reassociates %s -- -arch=sm_90a | FileCheck --check-prefix=JUDGED %s %}
// Code for another architecture computes each output as given. It is not the code that a judge of a program for sm_90a runs.
// RUN: %if long %{ not kb-opt --by-passes --judge=%t.small.cu --promise=reassociates %s -- -arch=sm_90 | FileCheck --check-prefix=OTHER %s %}
// RUN: kb-opt -arch=sm_90a -passes='schedule{kernel=nn},schedule{kernel=nt}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=FIRST %s
// RUN: kb-opt -arch=sm_90 -passes='schedule{kernel=nn}' -o /dev/null %s 2>&1 | FileCheck --check-prefix=HINT %s
// RUN: kb-opt -arch=sm_90 -passes="schedule{kernel=nn as='contraction unit=wgmma'}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=PLAIN %s
// RUN: kb-opt -arch=sm_80 -passes="schedule{kernel=nn as='contraction unit=wgmma'}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=OLD %s
// RUN: kb-opt -passes="schedule{kernel=nn as='contraction unit=wgmma'}" -o /dev/null %s -- -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a 2>&1 | FileCheck --check-prefix=PLAIN %s
// RUN: kb-opt -arch=sm_90a -passes="schedule{kernel=nn as='contraction unit=wgmma load=async bm=256 bn=256 bk=64 tm=64 tn=256 stages=3'}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=LARGE %s
// RUN: kb-opt -arch=sm_90a -passes="schedule{kernel=nn as='contraction unit=wgmma load=async bm=64 bn=256 bk=64 tm=64 tn=256 stages=3'}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=UNEVEN %s
// RUN: kb-opt -arch=sm_90a -passes="schedule{kernel=nn as='contraction unit=wgmma load=async bm=128 bn=128 bk=64 tm=32 tn=128 stages=3'}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=WARPS %s
// REMARK: added 'nn_{{t}}iled' ({{.*}}unit=wgmma
// REMARK: added 'nt_{{t}}iled' ({{.*}}unit=wgmma
// REMARK: added 'tn_{{t}}iled' ({{.*}}core=bf16{{.*}}unit=wgmma
// REMARK: added 'tt_{{t}}iled' ({{.*}}unit=wgmma
// JUDGED: {{^}}correct
// OTHER: G6 numerics passed
// OTHER: G14 whole program passed
// OTHER: inconclusive (G0 provenance): {{.*}} '__CUDA_ARCH_FEAT_SM90_ALL'
// FIRST: added 'nn_{{t}}iled', {{.*}} (contraction bk=64 bm=256 bn=128 core=half{{.*}}load=tma{{.*}}unit=wgmma
// FIRST: added 'nt_{{t}}iled', {{.*}} (contraction bk=64 bm=256 bn=128 core=half{{.*}}load=tma{{.*}}unit=wgmma
// HINT: added 'nn_{{t}}iled'{{.*}}unit=mma{{.*}}; compiled for sm_90a and nothing else it would multiply by wgmma, about 1.{{[0-9]}} times as fast
// PLAIN: does not apply: wgmma needs a program that is compiled for sm_90a and nothing else
// OLD: does not apply: sm_80 has no wgmma
// LARGE: does not apply: a block needs about 86016 registers
// UNEVEN: does not apply: 128 threads do not share out tiles of 256 elements of b
// WARPS: does not apply: four warps multiply 64 rows and all 128 columns by wgmma, of tiles of up to 256 x 256 in multiples of 64

// CHECK: #ifdef __CUDA_ARCH_FEAT_SM90_ALL
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// CHECK: %64, %65, 1, 1, 1, 0, 1;
// CHECK: {{n}}n_tiled(
// CHECK: auto &aTile = *reinterpret_cast<half(*)[STAGES][BM][64]>
// CHECK: auto &bTile = *reinterpret_cast<half(*)[STAGES][BN / 64][BK][64]>
// CHECK: fence.proxy.async.shared::cta;
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: wgmma.fence.sync.aligned;
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: *reinterpret_cast<uint4 *>(&c[
// CHECK: #else
// CHECK: for (int at = threadIdx.x; at < BM * BN; at += THREADS)
// CHECK: #endif
// CHECK: %64, %65, 1, 1, 1, 0, 0;
// CHECK: m64n128k16.f32.bf16.bf16
// CHECK: %64, %65, 1, 1, 1, 1, 1;
// CHECK: %64, %65, 1, 1, 1, 1, 0;
// SMALL: {{n}}n_tiled(
// SMALL: wgmma.wait_group.sync.aligned 0;
// SMALL-NEXT: __syncthreads();
// SMALL-NOT: wait_group.sync.aligned 1
// SMALL: if (can_use_nn_
// SMALL: {{n}}n_tiled<<<
// SMALL: else if (
// SMALL: {{n}}n_tiled2<<<
// SMALL: else
// SMALL: {{n}}n<<<
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

__global__ void nn(const half *a, const half *b, half *c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x, batch = blockIdx.z;
  if (row >= m || col >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __half2float(a[(batch * m + row) * k + i]) * __half2float(b[(batch * k + i) * n + col]);
  c[(batch * m + row) * n + col] = __float2half(sum);
}

__global__ void nt(const half *x, const half *w, const float *bias, float *y, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = bias[col];
  for (int i = 0; i < k; ++i)
    sum += __half2float(x[row * k + i]) * __half2float(w[col * k + i]);
  y[row * n + col] = fmaxf(sum, 0.0f);
}

__global__ void tn(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, float alpha, float beta, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[i * m + row]) * __bfloat162float(b[i * n + col]);
  c[row * n + col] = __float2bfloat16(alpha * sum + beta * __bfloat162float(c[row * n + col]));
}

__global__ void tt(const half *a, const half *b, half *c, const half *scale, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n)
    return;
  float sum = 1;
  for (int i = 0; i < k; ++i)
    sum += __half2float(a[i * m + row]) * __half2float(b[col * k + i]);
  c[row * n + col] = __float2half(sum * __half2float(scale[row]));
}

template <typename T> T *make(size_t count, int seed, T (*from)(float)) {
  std::vector<T> host(count);
  for (size_t i = 0; i < count; ++i)
    host[i] = from((int(i * 7919 + seed * 131) % 203 - 101) / 128.0f);
  T *all;
  cudaMalloc(&all, (count + 8) * sizeof(T));
  cudaMemcpy(all, host.data(), count * sizeof(T), cudaMemcpyHostToDevice);
  return all;
}

template <typename T> double total(const T *c, size_t count, float (*to)(T)) {
  std::vector<T> host(count);
  cudaMemcpy(host.data(), c, count * sizeof(T), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += to(host[i]) * (1 + i % 7);
  return sum;
}

half toHalf(float x) { return __float2half(x); }
__nv_bfloat16 toBrain(float x) { return __float2bfloat16(x); }
float same(float x) { return x; }
float fromHalf(half x) { return __half2float(x); }
float fromBrain(__nv_bfloat16 x) { return __bfloat162float(x); }

int main() {
  // The last tiles are partly filled; then a size that 8 does not divide, pointers that are not aligned, and no terms.
  int sizes[][4] = {{72, 136, 136, 0}, {72, 40, 68, 0}, {64, 64, 64, 1}, {8, 16, 0, 0}};
  for (auto &[m, n, k, shift] : sizes) {
    dim3 block(32, 8), grid((n + 31) / 32, (m + 7) / 8);
    half *a = make(m * k * 2 + 1, 1, toHalf), *b = make(k * n * 2 + 1, 2, toHalf), *c = make(m * n * 2 + 1, 3, toHalf);
    __nv_bfloat16 *x = make(m * k + 1, 1, toBrain), *y = make(k * n + 1, 2, toBrain), *z = make(m * n + 1, 3, toBrain);
    float *bias = make(n, 4, same), *out = make(m * n, 5, same);
    half *scale = make(m, 6, toHalf);
    nn<<<dim3(grid.x, grid.y, 2), block>>>(a + shift, b + shift, c + shift, m, n, k);
    printf("%.4g ", total(c, m * n * 2, fromHalf));
    nt<<<grid, block>>>(a + shift, b + shift, bias, out, m, n, k);
    printf("%.4g ", total(out, m * n, same));
    tn<<<grid, block>>>(x + shift, y + shift, z + shift, 0.5f, 2.0f, m, n, k);
    printf("%.4g ", total(z, m * n, fromBrain));
    tt<<<grid, block>>>(a + shift, b + shift, c + shift, scale, m, n, k);
    printf("%.4g\n", total(c, m * n, fromHalf));
  }
}
