// Warp operations and cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void warps(int *out) {
  int i = threadIdx.x, lane = i % 32;
  int *own = out + i * 16;
  own[0] = __shfl_sync(~0u, i, 5);
  own[1] = __shfl_up_sync(~0u, i, 1);
  own[2] = __shfl_down_sync(~0u, i, 2, 8);
  own[3] = __shfl_xor_sync(~0u, i, 3);
  own[4] = __ballot_sync(~0u, lane & 1);
  own[5] = __any_sync(~0u, lane == 3) + 2 * __all_sync(~0u, lane < 31) + 4 * __uni_sync(~0u, 1);
  own[6] = __match_any_sync(~0u, lane / 8);
  int all;
  own[7] = __match_all_sync(~0u, 9, &all) + all;
  own[8] = __reduce_add_sync(~0u, lane);
  own[9] = __reduce_max_sync(~0u, -lane);
  if (lane < 8)
    own[10] = __activemask();
  else
    own[10] = -1;
  own[11] = int(__shfl_sync(~0u, 1.5 * lane, 4) * 2);
  unsigned low;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(low));
  own[12] = low;
  __syncwarp();
  own[13] = __fns(0xf0, 0, 3);
  own[14] = __syncthreads_or(i == 40) + 2 * __syncthreads_and(i < 64);
}

extern "C" __global__ void groups(const float *x, float *out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  auto warp = cg::tiled_partition<32>(block);
  float v = x[block.thread_rank()];
  float sum = cg::reduce(tile, v, cg::plus<float>());
  float largest = cg::reduce(warp, v, cg::greater<float>());
  float before = cg::exclusive_scan(warp, v, cg::plus<float>());
  out[block.thread_rank() * 4] = sum;
  out[block.thread_rank() * 4 + 1] = largest;
  out[block.thread_rank() * 4 + 2] = before;
  if (warp.thread_rank() < 5) {
    cg::coalesced_group some = cg::coalesced_threads();
    out[block.thread_rank() * 4 + 3] = some.size() * 100 + some.shfl(some.thread_rank(), 2);
  }
  block.sync();
}

// Producer and consumer on named barriers.
extern "C" __global__ void named(int *out) {
  __shared__ int box[32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    box[lane] = lane * 2;
    __threadfence_block();
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[lane] = box[31 - lane];
  }
}

// Who is together behind a branch, in numbers of 32 lanes: `kind` says what stands between both.
extern "C" __global__ void together(const int *x, int *out, unsigned *masks, int kind) {
  int i = threadIdx.x;
  if (x[i] > 0)
    atomicAdd(out, x[i]);
  else
    atomicSub(out + 1, 1);
  if (kind == 1)
    __syncwarp();
  else if (kind == 2)
    __syncthreads();
  masks[i] = __activemask();
}

// The loop ends sooner for some lanes.
extern "C" __global__ void togetherBehindLoop(const int *x, int *out, unsigned *masks) {
  int i = threadIdx.x;
  for (int k = 0; k < x[i]; ++k)
    atomicAdd(out, k);
  masks[i] = __activemask();
}

// A sum that relies on lanes that come together again, and one that does not.
extern "C" __global__ void sumsOfWarps(const int *x, int *out, int synchronises) {
  int v = x[threadIdx.x];
  if (v > 0)
    atomicAdd(out + 2, 1);
  unsigned mask = synchronises ? ~0u : __activemask();
  for (int step = 16; step > 0; step /= 2)
    v += __shfl_xor_sync(mask, v, step);
  if (threadIdx.x % 32 == 0)
    out[threadIdx.x / 32] = v;
}

// An exchange through memory behind a branch, with a synchronisation or without.
extern "C" __global__ void exchangesThroughMemory(const int *x, int *out, int synchronises) {
  __shared__ int box[32];
  int lane = threadIdx.x;
  box[lane] = -1;
  __syncwarp();
  if (x[lane] > 0)
    box[lane] = lane;
  else
    box[lane] = lane + 100;
  if (synchronises)
    __syncwarp();
  out[lane] = box[31 - lane];
}
