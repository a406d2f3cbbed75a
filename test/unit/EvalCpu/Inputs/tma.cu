// Copies of boxes by tensor maps that complete at barriers in shared memory, and such that are used wrongly.
#include <cuda.h>
#include <cuda_fp16.h>

using Barrier = unsigned long long;

__device__ unsigned at(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }
__device__ void init(Barrier &barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(at(&barrier)), "r"(count) : "memory");
}
__device__ void fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void arrive(Barrier &barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(at(&barrier)) : "memory");
}
__device__ void expect(Barrier &barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(at(&barrier)), "r"(bytes) : "memory");
}
__device__ void wait(Barrier &barrier, unsigned parity) {
  unsigned isComplete = 0;
  while (!isComplete)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(isComplete)
                 : "r"(at(&barrier)), "r"(parity)
                 : "memory");
}
__device__ void copy(void *to, const CUtensorMap &map, int x, int y, Barrier &barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               :
               : "r"(at(to)), "l"(&map), "r"(x), "r"(y), "r"(at(&barrier))
               : "memory");
}
__device__ void copy(void *to, const CUtensorMap &map, int x, int y, int z, Barrier &barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
      :
      : "r"(at(to)), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(at(&barrier))
      : "memory");
}

extern __shared__ __align__(1024) char memory[];

/// A box of `bytes` at x, y and, with three dimensions, z; `out` gets it as it lies in shared memory.
__global__ void box(const __grid_constant__ CUtensorMap map, unsigned *out, int x, int y, int z, int dimensions, int bytes) {
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    init(full, 1);
    fence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(full, bytes);
    if (dimensions == 2)
      copy(memory, map, x, y, full);
    else
      copy(memory, map, x, y, z, full);
  }
  wait(full, 0);
  for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    out[i] = ((unsigned *)memory)[i];
}

/// A token of each phase, and waits that do not block.
__global__ void phases(int *out) {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0)
    init(barrier, blockDim.x);
  __syncthreads();
  int tries = 0, wrong = 0;
  for (unsigned phase = 0; phase < 4; ++phase) {
    unsigned long long token;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(at(&barrier)) : "memory");
    unsigned isComplete = 0;
    while (!isComplete) {
      asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                   : "=r"(isComplete)
                   : "r"(at(&barrier)), "l"(token)
                   : "memory");
      ++tries;
    }
    wait(barrier, phase % 2); // is complete
    wrong += tries == 0;
  }
  out[threadIdx.x] = wrong;
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(at(&barrier)) : "memory");
}

/// What a kernel does wrongly.
enum Mistake {
  None,
  NoWait,
  WrongParity,
  ReleasesBeforeReading,
  NoRelease,
  RefillsFullStage,
  NoFence,
  NoBarrier,
  UsesBytes,
  ExpectsMore,
  ExpectsLess,
  ArrivesTwice,
  NoInit,
  Misplaced,
  Misaligned,
};

/// The first warp has a tile of 8 x 64 halves copied, twice to the same place; the second one reads it.
__global__ void mistaken(const __grid_constant__ CUtensorMap map, half *out, int mistake) {
  constexpr int bytes = 8 * 128;
  __shared__ Barrier full, empty;
  half *const tile = (half *)(memory + (mistake == Misplaced ? 64 : 0));
  if (threadIdx.x == 0) {
    if (mistake != NoInit)
      init(full, 1);
    init(empty, 1);
    if (mistake != NoFence)
      fence();
  }
  if (mistake != NoBarrier)
    __syncthreads();
  if (threadIdx.x == 0)
    for (int turn = 0; turn < 2; ++turn) {
      if (turn && mistake != RefillsFullStage)
        wait(empty, 0);
      expect(full, bytes + (mistake == ExpectsMore || mistake == ArrivesTwice) * 16 - (mistake == ExpectsLess) * 16);
      if (mistake == ArrivesTwice)
        arrive(full);
      copy(tile, map, mistake == Misaligned ? 4 : 0, turn * 8, full);
    }
  if (threadIdx.x < 32)
    return;
  for (int turn = 0; turn < 2; ++turn) {
    if (mistake != NoWait)
      wait(full, mistake == WrongParity ? 1 - turn : turn);
    if (mistake == ReleasesBeforeReading && threadIdx.x == 32)
      arrive(empty);
    for (int i = threadIdx.x % 32; i < bytes / 2; i += 32)
      out[turn * bytes / 2 + i] = tile[i];
    if (mistake == UsesBytes)
      out[threadIdx.x] = __float2half((float)empty);
    __syncwarp();
    if (mistake != ReleasesBeforeReading && mistake != NoRelease && threadIdx.x == 32)
      arrive(empty);
  }
}
