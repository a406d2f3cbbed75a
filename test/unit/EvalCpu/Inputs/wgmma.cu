// wgmma with any descriptors, with A in registers, and used wrongly. For compute capability 9.0a.
#include <cuda_fp16.h>

__device__ unsigned long long descriptor(unsigned at, unsigned leading, unsigned stride, unsigned swizzle) {
  return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}

__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
__device__ void fenceProxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

template <int transA, int transB>
__device__ void multiply(float (&d)[12], unsigned long long a, unsigned long long b) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}, %12, %13, p, 1, 1, %14, %15;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
               : "l"(a), "l"(b), "n"(transA), "n"(transB));
}

extern __shared__ __align__(1024) char memory[];
constexpr int halves = 32768;

__device__ unsigned fill(const half *in) {
  for (int i = threadIdx.x; i < halves; i += blockDim.x)
    ((half *)memory)[i] = in[i];
  return (unsigned)__cvta_generic_to_shared(memory);
}

/// A begins at byte 0, B at byte 16384.
template <int transA, int transB>
__device__ void probe(const half *in, float *out, uint4 left, uint4 right) {
  const unsigned base = fill(in);
  fenceProxy();
  __syncthreads();
  float d[12] = {};
  fence();
  multiply<transA, transB>(d, descriptor(base + left.x, left.y, left.z, left.w),
                           descriptor(base + right.x, right.y, right.z, right.w));
  commit();
  wait();
  for (int i = 0; i < 12; ++i)
    out[threadIdx.x * 12 + i] = d[i];
}

__global__ void rowsRows(const half *in, float *out, uint4 a, uint4 b) { probe<0, 0>(in, out, a, b); }
__global__ void rowsColumns(const half *in, float *out, uint4 a, uint4 b) { probe<0, 1>(in, out, a, b); }
__global__ void columnsRows(const half *in, float *out, uint4 a, uint4 b) { probe<1, 0>(in, out, a, b); }
__global__ void columnsColumns(const half *in, float *out, uint4 a, uint4 b) { probe<1, 1>(in, out, a, b); }

/// D = 0 + (-A) * B, A in registers: row r of A is r + 1 in its term r % 16, B is [8 columns][16 terms].
__global__ void registers(const half *in, float *out) {
  const unsigned base = fill(in);
  fenceProxy();
  __syncthreads();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned a[4];
  for (int i = 0; i < 4; ++i) {
    const int row = warp * 16 + lane / 4 + i % 2 * 8, term = lane % 4 * 2 + i / 2 * 8;
    __half2 pair = __floats2half2_rn(row % 16 == term ? row + 1 : 0, row % 16 == term + 1 ? row + 1 : 0);
    a[i] = *(unsigned *)&pair;
  }
  float d[4] = {9, 9, 9, 9};
  fence();
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 0, -1, 1, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor(base, 0, 256, 3)));
  commit();
  wait();
  for (int i = 0; i < 4; ++i)
    out[(warp * 16 + lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

/// What a kernel does wrongly.
enum Mistake { None, NoWait, OverwritesTile, NoProxyFence, NoFence, Outside, Differing, NoBarrier };

__global__ void mistaken(const half *in, float *out, int mistake) {
  const unsigned base = fill(in);
  if (mistake != NoProxyFence)
    fenceProxy();
  if (mistake != NoBarrier)
    __syncthreads();
  float d[12] = {};
  if (mistake != NoFence)
    fence();
  const unsigned at = mistake == Differing ? threadIdx.x / 32 * 32 : 0;
  multiply<0, 0>(d, descriptor(base + at, 0, mistake == Outside ? 16384 : 1024, 1), descriptor(base + 16384, 0, 1024, 1));
  commit();
  if (mistake == OverwritesTile)
    ((half *)memory)[threadIdx.x % 16] = __float2half(0);
  if (mistake != NoWait)
    wait();
  for (int i = 0; i < 12; ++i)
    out[threadIdx.x * 12 + i] = d[i];
}
