//===- BarrierTest.cpp - block barriers, deadlocks ------------------------===//
#include "TestImage.h"

using namespace kbrt;
using namespace kbrt::test;

namespace {

/// out[i] = in shared memory what thread n-1-i put there.
void reverse(void **args, const Block *block, Thread *thread) {
  auto *out = argument<int *>(args, 0);
  auto *shared = reinterpret_cast<int *>(block->dynamicShared);
  shared[thread->linear] = int(thread->linear + block->ctaid.x);
  kbrt_barrier(0, 0, 0);
  out[block->ctaid.x * block->threads + thread->linear] =
      shared[block->threads - 1 - thread->linear];
}

void reduce(void **args, const Block *block, Thread *thread) {
  auto *out = argument<int *>(args, 0);
  bool isEven = thread->linear % 2 == 0;
  uint32_t count = kbrt_barrier_red(0, 0, 0, BarrierReduction::Popcount, isEven);
  uint32_t all = kbrt_barrier_red(0, 0, 0, BarrierReduction::And, isEven);
  uint32_t any = kbrt_barrier_red(0, 0, 0, BarrierReduction::Or, isEven);
  out[thread->linear] = int(count * 100 + all * 10 + any);
}

/// Odd threads end before the barrier.
void exitEarly(void **args, const Block *, Thread *thread) {
  auto *out = argument<int *>(args, 0);
  if (thread->linear % 2)
    return;
  out[thread->linear] = 1;
  kbrt_barrier(0, 0, 0);
  out[thread->linear] += out[(thread->linear + 2) % 64];
}

/// Warp 0 produces, warp 1 consumes, through named barriers 1 and 2.
void producerConsumer(void **args, const Block *block, Thread *thread) {
  auto *out = argument<int *>(args, 0);
  auto *shared = reinterpret_cast<volatile int *>(block->dynamicShared);
  for (int round = 0; round < 3; ++round) {
    if (thread->warp == 0) {
      shared[thread->lane] = round * 100 + int(thread->lane);
      kbrt_barrier_arrive(0, 1, 64);
      kbrt_barrier(0, 2, 64);
    } else {
      kbrt_barrier(0, 1, 64);
      out[round * 32 + thread->lane] = shared[31 - thread->lane];
      kbrt_barrier_arrive(0, 2, 64);
    }
  }
}

/// Half of the threads at barrier 0, the others at barrier 1.
void apart(void **, const Block *, Thread *thread) {
  if (thread->linear < 32)
    kbrt_barrier(0, 0, 0);
  else
    kbrt_barrier(1, 1, 0);
}

/// The same barrier from two source lines.
void twoLines(void **, const Block *, Thread *thread) {
  if (thread->linear < 32)
    kbrt_barrier(0, 0, 0);
  else
    kbrt_barrier(1, 0, 0);
}

void waitForNobody(void **, const Block *, Thread *thread) {
  if (thread->warp == 0)
    kbrt_barrier(0, 3, 64);
}

void poison(void **args, const Block *block, Thread *thread) {
  auto *out = argument<int *>(args, 0);
  out[block->ctaid.x] = reinterpret_cast<int *>(block->shared)[thread->linear];
  reinterpret_cast<int *>(block->shared)[thread->linear] = 0;
}

} // namespace

TEST(Barrier, OrdersSharedMemory) {
  for (uint64_t seed : {0, 3}) {
    TestImage image;
    image.site(AccessKind::Barrier);
    image.kernel("k", reverse);
    image.options.seed = seed;
    DeviceArray<int> out(3 * 1024);
    LaunchResult result = image.launch("k", {3}, {1024}, 4096, out.data);
    ASSERT_EQ(result.status, LaunchStatus::Ok) << result.message;
    for (int i = 0; i < 3072; ++i)
      ASSERT_EQ(out.data[i], 1023 - i % 1024 + i / 1024);
  }
}

TEST(Barrier, Reduces) {
  TestImage image;
  image.kernel("k", reduce);
  DeviceArray<int> out(50);
  image.options.seed = 5;
  ASSERT_EQ(image.launch("k", {1}, {50}, 0, out.data).status, LaunchStatus::Ok);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(out.data[i], 2501);
}

TEST(Barrier, DoesNotWaitForThreadsThatEnded) {
  for (uint64_t seed : {0, 1, 2}) {
    TestImage image;
    image.kernel("k", exitEarly);
    image.options.seed = seed;
    DeviceArray<int> out(64);
    out.fill(0);
    ASSERT_EQ(image.launch("k", {1}, {64}, 0, out.data).status, LaunchStatus::Ok);
    EXPECT_GE(out.data[0], 2);
    EXPECT_EQ(out.data[1], 0);
  }
}

TEST(Barrier, NamedBarriersWithArrive) {
  for (uint64_t seed : {0, 1, 7}) {
    TestImage image;
    image.kernel("k", producerConsumer);
    image.options.seed = seed;
    DeviceArray<int> out(96);
    LaunchResult result = image.launch("k", {1}, {64}, 256, out.data);
    ASSERT_EQ(result.status, LaunchStatus::Ok) << result.message;
    for (int i = 0; i < 96; ++i)
      EXPECT_EQ(out.data[i], i / 32 * 100 + 31 - i % 32);
  }
}

TEST(Barrier, ReportsThreadsAtDifferentBarriers) {
  TestImage image;
  image.site(AccessKind::Barrier);
  image.site(AccessKind::Barrier);
  image.kernel("k", apart);
  LaunchResult result = image.launch("k", {1}, {64}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::DivergentBarrier);
  EXPECT_EQ(result.message,
            "threads wait at different barriers and can never meet: 32 threads wait at barrier 0 "
            "(k.cu:1), the first is thread (0,0,0); 32 threads wait at barrier 1 (k.cu:2), the "
            "first is thread (32,0,0) (kernel k, block (0,0,0))");
}

TEST(Barrier, CheckModeRefusesOneBarrierFromTwoLines) {
  for (ImageMode mode : {ImageMode::Plain, ImageMode::Check}) {
    TestImage image(mode);
    image.site(AccessKind::Barrier);
    image.site(AccessKind::Barrier);
    image.kernel("k", twoLines);
    LaunchResult result = image.launch("k", {1}, {64}, 0, nullptr);
    EXPECT_EQ(result.status,
              mode == ImageMode::Plain ? LaunchStatus::Ok : LaunchStatus::DivergentBarrier);
    if (mode == ImageMode::Check)
      EXPECT_NE(result.message.find("k.cu:1, others at the one at k.cu:2"), std::string::npos)
          << result.message;
  }
}

TEST(Barrier, ReportsADeadlock) {
  TestImage image;
  image.site(AccessKind::Barrier);
  image.kernel("k", waitForNobody);
  LaunchResult result = image.launch("k", {1}, {64}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::Deadlock);
  EXPECT_NE(result.message.find("32 threads wait at barrier 3 (k.cu:1)"), std::string::npos)
      << result.message;
  EXPECT_NE(result.message.find("32 threads have ended"), std::string::npos) << result.message;
}

TEST(Barrier, PoisonsSharedMemoryBeforeEachBlock) {
  TestImage image;
  image.kernel("k", poison).sharedSpan = 128;
  image.options.sharedPoison = 0x11;
  DeviceArray<int> out(4);
  ASSERT_EQ(image.launch("k", {4}, {1}, 0, out.data).status, LaunchStatus::Ok);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(out.data[i], 0x11111111);
}
