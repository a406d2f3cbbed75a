// Products by wgmma whose tiles tensor maps describe: in several orders and types, in batches, more tiles than blocks, and sizes and
// pointers for which the driver has no tensor map.
// RUN: kb-opt -arch=sm_90a -passes="schedule{as='contraction unit=wgmma load=tma bm=128 bn=192 bk=64 tm=64 tn=192 stages=5'}" -o %t.cu %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt -arch=sm_90a -passes="schedule{as='contraction unit=wgmma load=tma bm=64 bn=64 bk=64 tm=64 tn=64 stages=3 otherwise=1'}" --quiet -o %t.small.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.small.cu --promise=reassociates %s -- -arch=sm_90a | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt --emit=launch-map --judge=%t.small.cu %s -- -arch=sm_90a | FileCheck --check-prefix=MAP %s
// RUN: kb-opt --quiet -arch=sm_90a -passes="schedule{as='contraction unit=wgmma load=tma bm=128 bn=256 bk=64 tm=64 tn=256 stages=3 otherwise=1'}" -o %t.moves.cu %s
// RUN: %code %t.moves.cu | FileCheck --check-prefix=MOVES %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.moves.cu --promise=reassociates %s -- -arch=sm_90a | FileCheck --check-prefix=JUDGED %s %}
// RUN: kb-opt -arch=sm_90a -passes="schedule{kernel=nn as='contraction unit=wgmma load=tma bm=128 bn=256 bk=64 tm=64 tn=256 stages=5'}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=LARGE %s
// RUN: kb-opt -arch=sm_90a -passes="schedule{kernel=nn as='contraction unit=wgmma load=tma bm=128 bn=256 bk=64 tm=64 tn=256 stages=9'}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=STAGES %s
// RUN: kb-opt -arch=sm_90a -passes="schedule{kernel=nn as='contraction unit=wgmma load=bulk'}" -o /dev/null %s 2>&1 | FileCheck --check-prefix=LOAD %s
// REMARK: added 'nn_{{t}}iled' ({{.*}}load=tma{{.*}}unit=wgmma
// REMARK: added 'nt_{{t}}iled' ({{.*}}load=tma
// REMARK: added 'tn_{{t}}iled' ({{.*}}core=bf16{{.*}}load=tma
// JUDGED: {{^}}correct
// MAP: launch map: equal in 1 cases with 15 launches
// Four warps copy where registers move to those that multiply.
// MOVES: __launch_bounds__(384, 1)
// MOVES: if (threadIdx.x >= THREADS - 128) {
// MOVES-NEXT: asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
// MOVES-NEXT: if (threadIdx.x == THREADS - 128) {
// MOVES: return;
// MOVES: asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
// LARGE: does not apply: a block needs 245840 bytes of shared memory
// STAGES: does not apply: wgmma needs tiles of 64 terms, 16 bytes per access, 3 to 8 stages and one part
// LOAD: does not apply: the load 'bulk' is not one of 'async' and 'tma'

// CHECK: #include <cuda.h>
// CHECK: static inline CUtensorMap nn_tiledTensorMap(
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK: __launch_bounds__(288, 1)
// CHECK-NEXT: {{n}}n_tiled(
// CHECK-NEXT: const __grid_constant__ CUtensorMap aMap,
// CHECK-NEXT: const __grid_constant__ CUtensorMap bMap,
// CHECK: mbarrier.init.shared::cta.b64
// CHECK: fence.proxy.async.shared::cta
// CHECK: for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
// CHECK: nn_tiledWait(empty[stage], phase ^ 1);
// CHECK-NEXT: nn_tiledExpect(full[stage], sizeof(aTile[0]) + sizeof(bTile[0]));
// CHECK-NEXT: nn_tiledCopy(aTile[stage], aMap, i0, row0, batch, full[stage]);
// CHECK: nn_tiledCopy(bTile[stage][q], bMap, col0 + q * 64, i0, batch, full[stage]);
// CHECK: nn_tiledWait(full[stage], phase);
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: nn_tiledArrive(empty[stage > 0 ? stage - 1 : STAGES - 1]);
// CHECK: #else
// CHECK: for (int at = threadIdx.x; at < BM * BN; at += THREADS)
// CHECK: nn_tiledHasTensorMap(
// CHECK: {{n}}n_tiled<<<132
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
  // The last tiles are partly filled, and there are more of them than blocks; then a size that 8 does not divide, pointers that are not
  // aligned, and no terms.
  int sizes[][4] = {{72, 136, 264, 0}, {4288, 16, 8, 0}, {72, 40, 68, 0}, {64, 64, 64, 1}, {8, 16, 0, 0}};
  for (auto &[m, n, k, shift] : sizes) {
    dim3 block(32, 8), grid((n + 31) / 32, (m + 7) / 8);
    half *a = make(m * k * 2 + 1, 1, toHalf), *b = make(k * n * 2 + 1, 2, toHalf), *c = make(m * n * 2 + 1, 3, toHalf);
    __nv_bfloat16 *x = make(m * k + 1, 1, toBrain), *y = make(k * n + 1, 2, toBrain), *z = make(m * n + 1, 3, toBrain);
    float *bias = make(n, 4, same), *out = make(m * n, 5, same);
    nn<<<dim3(grid.x, grid.y, 2), block>>>(a + shift, b + shift, c + shift, m, n, k);
    printf("%.4g ", total(c, m * n * 2, fromHalf));
    nt<<<grid, block>>>(a + shift, b + shift, bias, out, m, n, k);
    printf("%.4g ", total(out, m * n, same));
    tn<<<grid, block>>>(x + shift, y + shift, z + shift, 0.5f, 2.0f, m, n, k);
    printf("%.4g\n", total(z, m * n, fromBrain));
  }
}
