//===- CountTest.cpp - requests, wavefronts, caches, mixes ----------------===//
#include "TestImage.h"

using namespace kbrt;
using namespace kbrt::test;

namespace {

constexpr uint64_t noLoop = 0;

/// Instructions of basic block 0.
constexpr uint64_t blockInstructions = 3;

/// As image code does at the begin of basic block 0; false if the block is not sampled.
bool enterBlock(Thread *thread) {
  if (thread->blockCounts)
    thread->blockCounts[0]++;
  else
    kbrt_work += blockInstructions;
  return thread->blockCounts;
}

/// out[i] = in[i * stride]: sites 0 and 1.
void strided(void **args, const Block *block, Thread *thread) {
  auto *in = argument<float *>(args, 0), *out = argument<float *>(args, 1);
  int stride = argument<int>(args, 2);
  uint32_t i = block->ctaid.x * block->ntid.x + thread->tid.x;
  if (!enterBlock(thread))
    return;
  kbrt_count_access(0, in + i * uint32_t(stride), noLoop);
  kbrt_count_access(1, out + i, noLoop);
}

/// Lane l runs l + 1 times through a loop that reads in[k]: site 0, branch 0.
void triangle(void **args, const Block *, Thread *thread) {
  auto *in = argument<float *>(args, 0);
  for (uint64_t k = 0; k <= thread->lane; ++k) {
    thread->blockCounts[0]++;
    kbrt_count_access(0, in + k, k);
    kbrt_count_branch(0, k < thread->lane, k);
  }
}

/// The same key again and again: the n-th of a lane belongs to the n-th request.
void sameKey(void **args, const Block *, Thread *thread) {
  auto *in = argument<float *>(args, 0);
  for (uint32_t k = 0; k < 100; ++k)
    kbrt_count_access(0, in + k * 32 + thread->lane, noLoop);
}

/// shared[lane * stride] of `bytes` each: site 2.
void sharedStride(void **args, const Block *block, Thread *thread) {
  auto stride = argument<uint32_t>(args, 0);
  kbrt_count_access(2, block->shared + thread->lane * stride, noLoop);
}

/// The first four blocks read in[k] 100 times; the others do nothing.
void fewBlocks(void **args, const Block *block, Thread *thread) {
  auto *in = argument<float *>(args, 0);
  for (uint64_t k = 0; k < 100 && block->ctaid.x < 4; ++k)
    if (enterBlock(thread))
      kbrt_count_access(0, in + k, k);
}

/// One block of each 64 reads in[k] 100 times, and every second of these with all sectors apart.
void scatteredBlocks(void **args, const Block *block, Thread *thread) {
  auto *in = argument<float *>(args, 0);
  const uint32_t place = argument<uint32_t>(args, 1);
  const uint64_t stride = block->ctaid.x / 64 % 2 ? argument<uint32_t>(args, 2) : 0;
  for (uint64_t k = 0; k < 100 && block->ctaid.x % 64 == place; ++k)
    if (enterBlock(thread))
      kbrt_count_access(0, in + k + stride * thread->lane, k);
}

/// Blocks take turns at `spread` lines of counters.
void atomicsToLines(void **args, const Block *block, Thread *thread) {
  int *counter = argument<int *>(args, 0) + 32 * (block->ctaid.x % argument<uint32_t>(args, 1));
  if (enterBlock(thread))
    kbrt_count_access(3, counter, noLoop);
  else
    kbrt_count_atomic(counter);
}

void atomicToOne(void **args, const Block *, Thread *) {
  kbrt_count_access(3, argument<int *>(args, 0), noLoop);
}

void stopAfterAccess(void **args, const Block *, Thread *) {
  kbrt_count_access(0, argument<float *>(args, 0), noLoop);
  kbrt_trap(0);
}

/// All threads read the same 4 KiB twice: the second time hits L1.
void readTwice(void **args, const Block *, Thread *thread) {
  auto *in = argument<float *>(args, 0);
  for (uint64_t k = 0; k < 64; ++k)
    kbrt_count_access(0, in + (k * 32 + thread->lane) % 1024, k);
}

void allowBarriers(void **, const Block *, Thread *thread) {
  kbrt_barrier(0, 0, 0);
  kbrt_shuffle(0, ~0u, ShuffleMode::Bfly, 1, 1, 0x1f, nullptr);
}

struct CountImage : TestImage {
  CountImage() : TestImage(ImageMode::Count) {
    site(AccessKind::Load, MemorySpace::Generic, 4, "in");
    site(AccessKind::Store, MemorySpace::Global, 4, "out");
    site(AccessKind::Load, MemorySpace::Shared, 4, "tile");
    site(AccessKind::Atomic, MemorySpace::Global, 4, "sum");
    MixInfo mix{"dir/k.cu", 7, {}};
    mix.ops[unsigned(Op::FFma)] = 2;
    mix.ops[unsigned(Op::IntAdd)] = 1;
    mixes.push_back(mix);
    blocks.push_back({0, 0, 1, 3, 7, "dir/k.cu", 1});
    branches.push_back({0, 8, 1, "dir/k.cu", 1, 0});
  }
  KernelCounters count(BodyFunction body, Dim3 grid, Dim3 block, std::vector<uint32_t> bytes,
                       auto... args) {
    kernel("k", body, bytes).sharedSpan = 16384;
    LaunchResult result = launch("k", grid, block, 0, args...);
    EXPECT_EQ(result.status, LaunchStatus::Ok) << result.message;
    EXPECT_TRUE(result.counters);
    return result.counters ? *result.counters : KernelCounters{};
  }
};

} // namespace

TEST(Count, SectorsOfStridedLoads) {
  for (auto [stride, sectors] : {std::pair{1, 4}, {2, 8}, {8, 32}, {32, 32}, {0, 1}}) {
    CountImage image;
    DeviceArray<float> in(64 * 32), out(64);
    KernelCounters c = image.count(strided, {1}, {64}, {8, 8, 4}, in.data, out.data, stride);
    EXPECT_EQ(c.globalLoad.requests, 2);
    EXPECT_EQ(c.globalLoad.sectorsPerRequest(), sectors) << stride;
    EXPECT_EQ(c.globalLoad.idealSectors, stride ? 8 : 2);
    EXPECT_EQ(c.globalStore.sectors, 8);
    EXPECT_EQ(c.globalStore.bytesPerSectorFraction(), 1);
    EXPECT_EQ(c.globalLoad.lanes, 64);
  }
}

TEST(Count, MisalignedRequestsNeedOneSectorMore) {
  CountImage image;
  DeviceArray<float> in(64), out(64);
  KernelCounters c = image.count(strided, {1}, {32}, {8, 8, 4}, in.data + 1, out.data, 1);
  EXPECT_EQ(c.globalLoad.sectors, 5);
  EXPECT_EQ(c.globalLoad.lineWavefronts, 2);
}

TEST(Count, WideLanesTakeTheirLinesInPasses) {
  // Every lane has a line of its own but for the width: 16 lanes of 8 bytes and 8 of 16 go
  // together.
  struct Case {
    uint32_t stride, bytes;
    double lines;
  };
  for (Case t : {Case{1, 4, 1},
                 {32, 4, 32},
                 {2, 8, 2},
                 {32, 8, 32},
                 {4, 16, 4},
                 {32, 16, 32},
                 {0, 4, 1},
                 {0, 16, 4}}) {
    CountImage image;
    for (auto &site : image.sites)
      site.bytes = t.bytes;
    DeviceArray<float> in(64 * 32 + 4), out(64 * 4);
    KernelCounters c = image.count(strided, {1}, {32}, {8, 8, 4}, in.data, out.data, t.stride);
    EXPECT_EQ(c.globalLoad.lineWavefronts, t.lines) << t.stride << " " << t.bytes;
  }
}

TEST(Count, ScalesSampledBlocksToTheGrid) {
  for (uint32_t sampled : {4u, 0u}) {
    CountImage image;
    image.options.sampledBlocks = sampled;
    DeviceArray<float> in(64 * 64), out(64 * 64);
    KernelCounters c = image.count(strided, {64}, {64}, {8, 8, 4}, in.data, out.data, 1);
    EXPECT_EQ(c.blocks, 64u);
    EXPECT_EQ(c.sampledBlocks, sampled ? sampled : 64u);
    EXPECT_EQ(c.globalLoad.sectors, 64 * 8);
    EXPECT_EQ(c.warps, 128);
    EXPECT_EQ(c.traffic.uniqueIsExact, sampled == 0);
    EXPECT_EQ(c.traffic.uniqueReadBytes, 64 * 64 * 4);
    EXPECT_EQ(c.traffic.uniqueWrittenBytes, 64 * 64 * 4);
    EXPECT_EQ(c.fp32Operations, 64 * 64 * 4);
    EXPECT_EQ(c.integerOperations, 64 * 64);
    EXPECT_EQ(c.warpInstructions, 128 * 3);
    ASSERT_EQ(c.lines.size(), 3u);
    EXPECT_EQ(c.lines[0].line, 1u);
    EXPECT_EQ(c.lines[0].globalSectors, 64 * 8);
    EXPECT_EQ(c.lines[2].line, 7u);
    EXPECT_EQ(c.lines[2].threadInstructions, 64 * 64 * 3);
  }
}

TEST(Count, BlocksWithoutWorkStandForThemselves) {
  CountImage image;
  image.options.sampledBlocks = 4;
  DeviceArray<float> in(128);
  KernelCounters c = image.count(fewBlocks, {64}, {32}, {8}, in.data);
  EXPECT_EQ(c.sampledBlocks, 4u);
  EXPECT_NEAR(c.globalLoad.requests, 4 * 100, 1);
  EXPECT_NEAR(c.blockImbalance, 64 / 4, 0.1);
}

TEST(Count, BlocksWithWorkAreFoundWhereverTheyLie) {
  for (uint32_t place : {0u, 16u, 37u, 63u}) {
    CountImage image;
    DeviceArray<float> in(128);
    KernelCounters c =
        image.count(scatteredBlocks, {256}, {32}, {8, 4, 4}, in.data, place, uint32_t(0));
    EXPECT_EQ(c.sampledBlocks, 4u) << place;
    EXPECT_NEAR(c.globalLoad.requests, 4 * 100, 4) << place; // 252 blocks are started, too
    EXPECT_NEAR(c.blockImbalance, 64, 1) << place;
    EXPECT_LT(c.sampleError, 0.01) << place;
  }
}

TEST(Count, TellsHowSureScaledCountersAre) {
  CountImage image;
  image.options.sampledBlocks = 16;
  DeviceArray<float> in(128 + 8 * 32);
  KernelCounters c =
      image.count(scatteredBlocks, {64 * 32}, {32}, {8, 4, 4}, in.data, 5u, uint32_t(8));
  EXPECT_EQ(c.sampledBlocks, 16u);
  // Half of the blocks with work have 32 sectors for one: 16.5 in the mean.
  EXPECT_GT(c.sampleError, 0.1);
  EXPECT_NEAR(c.globalLoad.sectors / (32 * 100 * 16.5), 1, 2.5 * c.sampleError);
  CountImage all;
  all.options.sampledBlocks = 0;
  KernelCounters exact =
      all.count(scatteredBlocks, {64 * 32}, {32}, {8, 4, 4}, in.data, 5u, uint32_t(8));
  EXPECT_EQ(exact.sampleError, 0);
  EXPECT_EQ(exact.globalLoad.sectors, 32 * 100 * 16.5);
}

TEST(Count, AtomicsOfAllBlocksMeet) {
  for (uint32_t spread : {1u, 16u}) {
    CountImage image;
    image.options.sampledBlocks = 4;
    DeviceArray<int> counters(16 * 32);
    KernelCounters c = image.count(atomicsToLines, {64}, {32}, {8, 4}, counters.data, spread);
    EXPECT_EQ(c.traffic.atomicLineShare, 1.0 / spread);
    EXPECT_EQ(c.globalAtomic.requests, 64);
  }
}

TEST(Count, LanesThatAddFloatsToOneAddressWait) {
  for (auto [operation, waiting] : {std::pair{"red.fadd", 32}, {"red.add", 1}}) {
    CountImage image;
    image.sites[3].detail = operation;
    DeviceArray<int> sum(1);
    KernelCounters c = image.count(atomicToOne, {1}, {32}, {8}, sum.data);
    EXPECT_EQ(c.globalAtomic.atomicSerialisation, waiting) << operation;
  }
}

TEST(Count, AStoppedLaunchLeavesNothingToTheNext) {
  DeviceArray<float> in(64), out(64);
  {
    CountImage image;
    image.kernel("k", stopAfterAccess, {8}).sharedSpan = 16384;
    EXPECT_EQ(image.launch("k", {1}, {32}, 0, in.data).status, LaunchStatus::Trap);
  }
  CountImage image;
  KernelCounters c = image.count(strided, {1}, {64}, {8, 8, 4}, in.data, out.data, 1);
  EXPECT_EQ(c.globalLoad.requests, 2);
}

TEST(Count, DivergentLoops) {
  CountImage image;
  DeviceArray<float> in(32);
  KernelCounters c = image.count(triangle, {1}, {32}, {8}, in.data);
  // Iteration k has the lanes k to 31, all at one address.
  EXPECT_EQ(c.globalLoad.requests, 32);
  EXPECT_EQ(c.globalLoad.lanes, 32 * 33 / 2);
  EXPECT_EQ(c.globalLoad.sectors, 32);
  EXPECT_EQ(c.branches, 32);
  EXPECT_EQ(c.divergentBranches, 31);
  EXPECT_EQ(c.warpInstructions, 32 * 3);
  EXPECT_EQ(c.threadInstructions, 32 * 33 / 2 * 3);
}

TEST(Count, RepetitionsOfOneKeyAreApart) {
  CountImage image;
  DeviceArray<float> in(3200);
  KernelCounters c = image.count(sameKey, {1}, {64}, {8}, in.data);
  EXPECT_EQ(c.globalLoad.requests, 200);
  EXPECT_EQ(c.globalLoad.sectors, 800);
}

TEST(Count, BankConflicts) {
  struct Case {
    uint32_t stride, bytes;
    double wavefronts, ideal;
  };
  // Stride in bytes. Odd word strides are free; 8 and 16 bytes go by halves and quarters of a warp.
  for (Case t : {Case{4, 4, 1, 1},
                 {8, 4, 2, 1},
                 {128, 4, 32, 1},
                 {132, 4, 1, 1},
                 {0, 4, 1, 1},
                 {1, 1, 1, 1},
                 {8, 8, 2, 2},
                 {16, 16, 4, 4},
                 {32, 16, 8, 4},
                 {16, 8, 4, 2}}) {
    CountImage image;
    image.sites[2].bytes = t.bytes;
    KernelCounters c = image.count(sharedStride, {1}, {32}, {4}, t.stride);
    EXPECT_EQ(c.sharedLoad.sharedWavefronts, t.wavefronts) << t.stride << " " << t.bytes;
    EXPECT_EQ(c.sharedLoad.idealSharedWavefronts, t.ideal) << t.stride << " " << t.bytes;
  }
}

TEST(Count, AtomicsToOneAddressSerialise) {
  CountImage image;
  image.sites[3].detail = "red.fadd";
  DeviceArray<int> sum(1);
  KernelCounters c = image.count(atomicToOne, {1}, {64}, {8}, sum.data);
  EXPECT_EQ(c.globalAtomic.requests, 2);
  EXPECT_EQ(c.globalAtomic.atomicSerialisation, 64);
}

TEST(Count, SecondReadHitsL1) {
  CountImage image;
  DeviceArray<float> in(1024);
  KernelCounters c = image.count(readTwice, {1}, {32}, {8}, in.data);
  EXPECT_EQ(c.traffic.l1LoadSectors, 256);
  EXPECT_EQ(c.traffic.l1LoadHitSectors, 128);
  EXPECT_EQ(c.traffic.l2ReadBytes, 4096);
  EXPECT_EQ(c.traffic.dramReadBytes, 4096);
}

TEST(Count, BarriersAndShuffles) {
  CountImage image;
  KernelCounters c = image.count(allowBarriers, {4}, {128}, {}, nullptr);
  EXPECT_EQ(c.blockBarriers, 16);
  EXPECT_EQ(c.shuffles, 16);
}

TEST(Count, CountsAreTheSameEveryTime) {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    CountImage image;
    DeviceArray<float> in(32);
    std::string text = toJson(image.count(triangle, {3}, {96}, {8}, in.data));
    if (i)
      EXPECT_EQ(text, first);
    first = text;
  }
}
