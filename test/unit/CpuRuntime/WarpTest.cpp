//===- WarpTest.cpp - warp operations -------------------------------------===//
#include "TestImage.h"
#include <bit>

using namespace kbrt;
using namespace kbrt::test;

namespace {

constexpr uint32_t wholeWarp = 0x1f; ///< c operand: one segment of 32 lanes

void sumByShuffle(void **args, const Block *, Thread *thread) {
  auto *out = argument<int *>(args, 0);
  uint32_t value = thread->linear;
  for (uint32_t offset = 16; offset; offset /= 2)
    value += kbrt_shuffle(0, ~0u, ShuffleMode::Down, value, offset, wholeWarp, nullptr);
  out[thread->linear] = int(kbrt_shuffle(0, ~0u, ShuffleMode::Idx, value, 0, wholeWarp, nullptr));
}

void shuffles(void **args, const Block *, Thread *thread) {
  auto *out = argument<uint32_t *>(args, 0);
  uint32_t lane = thread->lane, ok = 0, *row = out + lane * 6;
  row[0] = kbrt_shuffle(0, ~0u, ShuffleMode::Up, lane, 3, 0, &ok);
  row[1] = ok;
  row[2] = kbrt_shuffle(0, ~0u, ShuffleMode::Bfly, lane, 1, wholeWarp, &ok);
  // Segments of 8 lanes: c = (32 - 8) << 8 | 31.
  row[3] = kbrt_shuffle(0, ~0u, ShuffleMode::Down, lane, 2, 24 << 8 | 31, &ok);
  row[4] = ok;
  row[5] = kbrt_shuffle(0, ~0u, ShuffleMode::Idx, lane, 5, 24 << 8 | 31, &ok);
}

void votes(void **args, const Block *, Thread *thread) {
  auto *out = argument<uint32_t *>(args, 0);
  uint32_t lane = thread->lane, *row = out + lane * 8, equal = 0;
  row[0] = kbrt_vote(0, ~0u, VoteMode::Ballot, lane < 4);
  row[1] = kbrt_vote(0, ~0u, VoteMode::Any, lane == 31);
  row[2] = kbrt_vote(0, ~0u, VoteMode::All, lane != 31);
  row[3] = kbrt_vote(0, ~0u, VoteMode::Uni, 0);
  row[4] = kbrt_match_any(0, ~0u, lane % 3);
  row[5] = kbrt_match_all(0, ~0u, 7, &equal);
  row[6] = equal;
  row[7] = kbrt_redux(0, ~0u, ReduxOp::MaxSigned, uint32_t(-int(lane)));
}

/// The two halves of the warp do different things with their own masks.
void halves(void **args, const Block *, Thread *thread) {
  auto *out = argument<uint32_t *>(args, 0);
  if (thread->lane < 16)
    out[thread->lane] = kbrt_redux(0, 0x0000ffff, ReduxOp::Add, 1);
  else
    out[thread->lane] = kbrt_redux(0, 0xffff0000, ReduxOp::Add, 2);
}

void lanesThatEnded(void **args, const Block *, Thread *thread) {
  auto *out = argument<uint32_t *>(args, 0);
  if (thread->lane >= 8)
    return;
  out[thread->lane] = kbrt_vote(0, ~0u, VoteMode::Ballot, 1);
}

void notInMask(void **, const Block *, Thread *thread) { kbrt_warp_sync(0, 1); }

void laneAtBarrier(void **, const Block *, Thread *thread) {
  if (thread->lane == 0)
    kbrt_barrier(0, 0, 0);
  else
    kbrt_warp_sync(1, ~0u);
}

void activeMask(void **args, const Block *, Thread *thread) {
  auto *out = argument<uint32_t *>(args, 0);
  if (thread->lane % 2)
    out[thread->lane] = kbrt_activemask(0);
  else
    out[thread->lane] = kbrt_activemask(1);
}

/// A spin lock in shared memory: the holder must get on while the others wait.
void spinLock(void **args, const Block *block, Thread *) {
  auto *out = argument<uint32_t *>(args, 0);
  auto *lock = reinterpret_cast<volatile uint32_t *>(block->shared);
  while (*lock == 1)
    kbrt_yield(0);
  *lock = 1;
  uint32_t value = *out;
  kbrt_yield(0);
  *out = value + 1;
  *lock = 0;
}

const MmaShape wmma16{
    16, 16, 16, MmaLayout::Wmma, MmaType::F16, MmaType::F16, MmaType::F32, MmaType::F32, 16, 16, 8,
    8,  0,  0};

/// A = row, B = identity, C = 0.5: D(r, c) = r + 0.5.
void mma(void **args, const Block *, Thread *thread) {
  auto *out = argument<float *>(args, 0);
  uint16_t a[16], b[16];
  float c[8], d[8];
  uint32_t row, column;
  for (uint32_t i = 0; i < 16; ++i) {
    fragmentPosition(wmma16, MmaOperand::A, thread->lane, i, row, column);
    static const uint16_t halves[16] = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500,
                                        0x4600, 0x4700, 0x4800, 0x4880, 0x4900, 0x4980,
                                        0x4a00, 0x4a80, 0x4b00, 0x4b80};
    a[i] = halves[row];
    fragmentPosition(wmma16, MmaOperand::B, thread->lane, i, row, column);
    b[i] = row == column ? 0x3c00 : 0;
  }
  for (float &value : c)
    value = 0.5f;
  kbrt_mma(0, &wmma16, a, b, c, d);
  for (uint32_t i = 0; i < 8; ++i) {
    fragmentPosition(wmma16, MmaOperand::Accumulator, thread->lane, i, row, column);
    out[row * 16 + column] = d[i];
  }
}

template <typename T>
std::vector<T> run(BodyFunction body, size_t n, uint32_t threads, uint64_t seed = 0) {
  TestImage image;
  image.site(AccessKind::WarpOp);
  image.site(AccessKind::WarpOp);
  image.kernel("k", body).sharedSpan = 128;
  image.options.seed = seed;
  image.options.sharedPoison = 0;
  DeviceArray<T> out(n);
  out.fill(T{});
  LaunchResult result = image.launch("k", {1}, {threads}, 0, out.data);
  EXPECT_EQ(result.status, LaunchStatus::Ok) << result.message;
  return std::vector<T>(out.data, out.data + n);
}

} // namespace

TEST(Warp, SumsByShuffle) {
  for (uint64_t seed : {0, 1}) {
    auto out = run<int>(sumByShuffle, 128, 128, seed);
    for (int i = 0; i < 128; ++i)
      EXPECT_EQ(out[i], 496 + i / 32 * 1024);
  }
}

TEST(Warp, ShufflesByPtxRules) {
  auto out = run<uint32_t>(shuffles, 32 * 6, 32, 9);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t *row = &out[lane * 6];
    EXPECT_EQ(row[0], lane >= 3 ? lane - 3 : lane);
    EXPECT_EQ(row[1], lane >= 3);
    EXPECT_EQ(row[2], lane ^ 1);
    EXPECT_EQ(row[3], lane % 8 < 6 ? lane + 2 : lane);
    EXPECT_EQ(row[4], lane % 8 < 6);
    EXPECT_EQ(row[5], lane / 8 * 8 + 5);
  }
}

TEST(Warp, VotesMatchesAndReduces) {
  auto out = run<uint32_t>(votes, 32 * 8, 32, 2);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t *row = &out[lane * 8], same = 0;
    for (uint32_t i = lane % 3; i < 32; i += 3)
      same |= 1u << i;
    EXPECT_EQ(row[0], 15u);
    EXPECT_EQ(row[1], 1u);
    EXPECT_EQ(row[2], 0u);
    EXPECT_EQ(row[3], 1u);
    EXPECT_EQ(row[4], same);
    EXPECT_EQ(row[5], ~0u);
    EXPECT_EQ(row[6], 1u);
    EXPECT_EQ(row[7], 0u);
  }
}

TEST(Warp, MasksAreApart) {
  auto out = run<uint32_t>(halves, 32, 32, 4);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], lane < 16 ? 16u : 32u);
}

TEST(Warp, DoesNotWaitForLanesThatEnded) {
  for (uint64_t seed : {0, 1, 2}) {
    auto out = run<uint32_t>(lanesThatEnded, 32, 32, seed);
    EXPECT_EQ(out[7], 0xffu);
  }
  // A block that is no multiple of 32.
  EXPECT_EQ(run<uint32_t>(lanesThatEnded, 32, 5)[4], 0x1fu);
}

TEST(Warp, ReportsALaneOutsideItsMask) {
  TestImage image;
  image.site(AccessKind::WarpOp);
  image.kernel("k", notInMask);
  LaunchResult result = image.launch("k", {1}, {32}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::DivergentBarrier);
  EXPECT_NE(result.message.find("lane 1 is not in the mask 0x00000001"), std::string::npos)
      << result.message;
}

TEST(Warp, ReportsALaneThatWaitsElsewhere) {
  TestImage image;
  image.site(AccessKind::Barrier);
  image.site(AccessKind::WarpOp);
  image.kernel("k", laneAtBarrier);
  LaunchResult result = image.launch("k", {1}, {32}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::DivergentBarrier);
  EXPECT_NE(result.message.find("31 threads wait for the lanes of mask 0xffffffff (k.cu:2)"),
            std::string::npos)
      << result.message;
}

TEST(Warp, ActiveMaskGathersTheLanesAtASite) {
  for (uint64_t seed : {0, 3}) {
    auto out = run<uint32_t>(activeMask, 32, 32, seed);
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(out[lane], lane % 2 ? 0xaaaaaaaau : 0x55555555u);
  }
}

TEST(Warp, SpinLockIsHandedOver) { EXPECT_EQ(run<uint32_t>(spinLock, 1, 96, 1)[0], 96u); }

TEST(Warp, MultipliesMatrices) {
  auto out = run<float>(mma, 256, 32);
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(out[i], float(i / 16) + 0.5f);
}
