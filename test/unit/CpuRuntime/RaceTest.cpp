//===- RaceTest.cpp - what is ordered and what is not ---------------------===//
#include "TestImage.h"

using namespace kbrt;
using namespace kbrt::test;

namespace {

int load(uint32_t site, const int *p) {
  kbrt_check_load(site, p, 4);
  return *const_cast<const volatile int *>(p);
}
void store(uint32_t site, int *p, int value) {
  kbrt_check_store(site, p, 4);
  *const_cast<volatile int *>(p) = value;
}
int atomicAdd(uint32_t site, int *p, int value) {
  kbrt_check_atomic(site, p, 4);
  int old = *p;
  *p += value;
  return old;
}
int *shared(const Block *block) { return reinterpret_cast<int *>(block->shared); }

// Sites of all kernels here: 0 store, 1 load, 2 barrier, 3 atomic, 4 volatile load, 5 second store.

void exchange(const Block *block, Thread *thread, bool hasBarrier) {
  store(0, shared(block) + thread->linear, 1);
  if (hasBarrier)
    kbrt_barrier(2, 0, 0);
  load(1, shared(block) + (thread->linear + 1) % block->threads);
}
void withBarrier(void **, const Block *block, Thread *thread) { exchange(block, thread, true); }
void withoutBarrier(void **, const Block *block, Thread *thread) { exchange(block, thread, false); }

void sameValue(void **args, const Block *, Thread *) { store(0, argument<int *>(args, 0), 7); }
void otherValue(void **args, const Block *, Thread *thread) {
  store(0, argument<int *>(args, 0), int(thread->linear));
}
void histogram(void **args, const Block *, Thread *) { atomicAdd(3, argument<int *>(args, 0), 1); }
void atomicAndPlain(void **args, const Block *, Thread *thread) {
  if (thread->linear == 0)
    store(0, argument<int *>(args, 0), 1);
  else
    atomicAdd(3, argument<int *>(args, 0), 1);
}

void atomicAndLoad(void **args, const Block *, Thread *thread) {
  if (thread->linear == 0)
    load(1, argument<int *>(args, 0));
  else
    atomicAdd(3, argument<int *>(args, 0), 1);
}

/// Neighbouring bytes by neighbouring threads.
void bytes(void **args, const Block *, Thread *thread) {
  auto *p = argument<char *>(args, 0) + thread->linear;
  kbrt_check_store(0, p, 1);
  *p = 1;
}

/// Lanes exchange through shared memory with a warp barrier; the second warp has its own part.
void warpExchange(void **args, const Block *block, Thread *thread) {
  bool isSynchronised = argument<int>(args, 0);
  int *mine = shared(block) + thread->warp * 32;
  store(0, mine + thread->lane, 1);
  if (isSynchronised)
    kbrt_warp_sync(2, ~0u);
  load(1, mine + (31 - thread->lane));
}

/// The halves of a warp synchronise apart.
void halfWarps(void **args, const Block *block, Thread *thread) {
  bool isAcross = argument<int>(args, 0);
  uint32_t half = thread->lane / 16;
  store(0, shared(block) + thread->lane, 1);
  kbrt_warp_sync(2, half ? 0xffff0000u : 0xffffu);
  load(1, shared(block) + (isAcross ? 31 - thread->lane : half * 16 + (15 - thread->lane % 16)));
}

/// Warps 0 and 1 meet at barrier 1; warp 2 does not.
void namedBarrier(void **args, const Block *block, Thread *thread) {
  int reader = argument<int>(args, 0);
  if (thread->warp == 0)
    store(0, shared(block) + thread->lane, 1);
  if (thread->warp < 2)
    kbrt_barrier(2, 1, 64);
  if (thread->warp == uint32_t(reader))
    load(1, shared(block) + thread->lane);
}

/// The last block sums what all blocks wrote: the pattern of CUDA's threadFenceReduction.
void lastBlockSums(void **args, const Block *block, Thread *thread) {
  auto *partial = argument<int *>(args, 0);
  auto *counter = argument<int *>(args, 1);
  bool hasFence = argument<int>(args, 2);
  if (thread->linear == 0) {
    store(0, partial + block->ctaid.x, 1);
    if (hasFence)
      kbrt_fence(2);
    store(5, shared(block), atomicAdd(3, counter, 1) == int(block->nctaid.x) - 1);
  }
  kbrt_barrier(2, 0, 0);
  if (load(1, shared(block)))
    load(1, partial + thread->linear % block->nctaid.x);
}

/// Block i hands on to block i + 1 through a volatile flag: a chain.
void chain(void **args, const Block *block, Thread *) {
  auto *data = argument<int *>(args, 0), *flags = argument<int *>(args, 1);
  uint32_t i = block->ctaid.x;
  if (i) {
    load(4, flags + i - 1);
    for (uint32_t k = 0; k < i; ++k)
      load(1, data + k);
  }
  store(0, data + i, 1);
  kbrt_fence(2);
  kbrt_check_store(6, flags + i, 4);
  flags[i] = 1;
}

void readAll(void **args, const Block *block, Thread *thread) {
  load(1, argument<int *>(args, 0));
  if (block->ctaid.x == 2 && thread->linear == 3)
    store(0, argument<int *>(args, 0), 1);
}

struct RaceImage : TestImage {
  RaceImage() : TestImage(ImageMode::Check) {
    site(AccessKind::Store);
    site(AccessKind::Load);
    site(AccessKind::Barrier);
    site(AccessKind::Atomic);
    site(AccessKind::Load, MemorySpace::Generic, 4, "flags", true);
    site(AccessKind::Store);
    site(AccessKind::Store, MemorySpace::Generic, 4, "flags", true);
    for (SiteInfo &info : sites)
      info.space = MemorySpace::Generic;
    options.seed = 0;
  }
  void add(BodyFunction body, std::vector<uint32_t> parameters = {8}) {
    kernel("k", body, std::move(parameters)).sharedSpan = 4096;
  }
};

/// Findings of the race kinds.
std::vector<Finding> races(const LaunchResult &result) {
  EXPECT_EQ(result.status, LaunchStatus::Ok) << result.message;
  std::vector<Finding> list;
  for (const Finding &finding : result.findings)
    if (finding.kind == FindingKind::RaceGlobal || finding.kind == FindingKind::RaceShared ||
        finding.kind == FindingKind::RaceWithAtomic)
      list.push_back(finding);
  return list;
}

} // namespace

TEST(Race, BarrierOrdersTheBlock) {
  for (uint64_t seed : {0, 1, 2}) {
    RaceImage image;
    image.options.seed = seed;
    image.add(withBarrier);
    EXPECT_TRUE(races(image.launch("k", {3}, {128}, 0, nullptr)).empty());
  }
}

TEST(Race, MissingBarrierIsFoundAcrossAndInsideWarps) {
  for (uint32_t threads : {32u, 128u}) {
    RaceImage image;
    image.add(withoutBarrier);
    auto found = races(image.launch("k", {1}, {threads}, 0, nullptr));
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].kind, FindingKind::RaceShared);
    EXPECT_EQ(found[0].severity, Severity::Error);
    ASSERT_TRUE(found[0].other);
    EXPECT_NE(found[0].place.thread, found[0].other->thread);
  }
}

TEST(Race, SameValueIsBenign) {
  for (auto [body, severity] :
       {std::pair{&sameValue, Severity::Benign}, {&otherValue, Severity::Error}}) {
    RaceImage image;
    image.add(body);
    DeviceArray<int> a(1);
    a.fill(0);
    auto found = races(image.launch("k", {2}, {64}, 0, a.data));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].severity, severity);
    EXPECT_GT(found[0].count, 1u);
  }
}

TEST(Race, AtomicsDoNotRaceWithEachOther) {
  RaceImage image;
  image.add(histogram);
  DeviceArray<int> a(1);
  a.fill(0);
  EXPECT_TRUE(races(image.launch("k", {4}, {64}, 0, a.data)).empty());
  EXPECT_EQ(a.data[0], 256);
}

TEST(Race, AtomicAndPlainStoreRace) {
  RaceImage image;
  image.add(atomicAndPlain);
  DeviceArray<int> a(1);
  a.fill(0);
  EXPECT_FALSE(races(image.launch("k", {1}, {64}, 0, a.data)).empty());
}

TEST(Race, BytesOfOneWordAreApart) {
  RaceImage image;
  image.add(bytes);
  DeviceArray<char> a(64);
  EXPECT_TRUE(races(image.launch("k", {1}, {64}, 0, a.data)).empty());
}

TEST(Race, LaunchesAreOrdered) {
  RaceImage image;
  image.add(otherValue);
  DeviceArray<int> a(1);
  a.fill(0);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(races(image.launch("k", {1}, {1}, 0, a.data)).empty());
}

TEST(Race, WarpBarrierOrdersItsLanes) {
  for (int isSynchronised : {0, 1}) {
    RaceImage image;
    image.add(warpExchange, {4});
    EXPECT_EQ(races(image.launch("k", {1}, {64}, 0, isSynchronised)).empty(), isSynchronised);
  }
}

TEST(Race, PartialWarpBarrierOrdersOnlyItsMask) {
  for (int isAcross : {0, 1}) {
    RaceImage image;
    image.add(halfWarps, {4});
    EXPECT_EQ(races(image.launch("k", {1}, {32}, 0, isAcross)).empty(), !isAcross);
  }
}

TEST(Race, NamedBarrierOrdersOnlyWhoMeets) {
  for (int reader : {1, 2}) {
    RaceImage image;
    image.add(namedBarrier, {4});
    EXPECT_EQ(races(image.launch("k", {1}, {96}, 0, reader)).empty(), reader == 1) << reader;
  }
}

TEST(Race, FenceAndAtomicOrderBlocks) {
  for (int hasFence : {0, 1})
    for (uint64_t seed : {0, 5}) {
      RaceImage image;
      image.options.seed = seed;
      image.add(lastBlockSums, {8, 8, 4});
      DeviceArray<int> partial(8), counter(1);
      counter.fill(0);
      auto found = races(image.launch("k", {8}, {64}, 0, partial.data, counter.data, hasFence));
      EXPECT_EQ(found.empty(), hasFence) << (found.empty() ? "" : toText(found[0]));
      if (!found.empty())
        EXPECT_EQ(found[0].kind, FindingKind::RaceGlobal);
    }
}

TEST(Race, OrderIsHandedOnFromBlockToBlock) {
  RaceImage image;
  image.add(chain, {8, 8});
  DeviceArray<int> data(6), flags(6);
  flags.fill(0);
  auto found = races(image.launch("k", {6}, {1}, 0, data.data, flags.data));
  EXPECT_TRUE(found.empty()) << toText(found[0]);
}

TEST(Race, AWriterMeetsTheReadersOfOtherThreads) {
  RaceImage image;
  image.add(readAll);
  DeviceArray<int> a(1);
  a.fill(0);
  auto found = races(image.launch("k", {4}, {32}, 0, a.data));
  EXPECT_GE(found.size(), 1u);
}

TEST(Race, APlainLoadBesideAtomicsHasAKindOfItsOwn) {
  RaceImage image;
  image.add(atomicAndLoad);
  DeviceArray<int> a(1);
  for (uint64_t seed : {0, 5}) { // the load comes first, or an atomic operation
    image.options.seed = seed;
    a.fill(0);
    auto found = races(image.launch("k", {1}, {64}, 0, a.data));
    ASSERT_FALSE(found.empty());
    for (const Finding &finding : found)
      EXPECT_EQ(finding.kind, FindingKind::RaceWithAtomic) << toText(finding);
  }
}
