//===- WarpsTest.cpp - Warp operations and cooperative groups -------------===//
#include "CudaProgram.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

struct Warps : testing::TestWithParam<kbrt::ImageMode> {};

TEST_P(Warps, ExchangeVoteAndReduce) {
  CudaProgram program("warps.cu", GetParam());
  int *out = program.allocate<int>(64 * 16);
  program.expectRun("warps", {1}, {64}, out);
  for (int i = 0; i < 64; ++i) {
    int lane = i % 32, warp = i - lane, *own = out + i * 16;
    EXPECT_EQ(own[0], warp + 5);
    EXPECT_EQ(own[1], lane ? i - 1 : i);
    EXPECT_EQ(own[2], lane % 8 < 6 ? i + 2 : i);
    EXPECT_EQ(own[3], i ^ 3);
    EXPECT_EQ(unsigned(own[4]), 0xaaaaaaaau);
    EXPECT_EQ(own[5], 5);
    EXPECT_EQ(unsigned(own[6]), 0xffu << (lane / 8 * 8));
    EXPECT_EQ(own[7], 0);
    EXPECT_EQ(own[8], 496);
    EXPECT_EQ(own[9], 0);
    EXPECT_EQ(own[10], lane < 8 ? 0xff : -1);
    EXPECT_EQ(own[11], 12);
    EXPECT_EQ(unsigned(own[12]), (1u << lane) - 1);
    EXPECT_EQ(own[13], 6);
    EXPECT_EQ(own[14], 3);
  }
  std::vector<float> x(64);
  for (int i = 0; i < 64; ++i)
    x[i] = float(i * i % 37);
  float *sums = program.allocate<float>(256);
  program.expectRun("groups", {1}, {64}, program.upload(x), sums);
  for (int i = 0; i < 64; ++i) {
    float sum = 0, largest = 0, before = 0;
    for (int k = i / 16 * 16; k < i / 16 * 16 + 16; ++k)
      sum += x[k];
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k)
      largest = std::max(largest, x[k]);
    for (int k = i / 32 * 32; k < i; ++k)
      before += x[k];
    EXPECT_EQ(sums[4 * i], sum);
    EXPECT_EQ(sums[4 * i + 1], largest);
    EXPECT_EQ(sums[4 * i + 2], before);
    if (i % 32 < 5)
      EXPECT_EQ(sums[4 * i + 3], 502.f);
  }
  int *boxes = program.allocate<int>(32);
  program.expectRun("named", {1}, {64}, boxes);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(boxes[i], (31 - i) * 2);
}

/// Whether all lanes that met say so, and how many met with all 32.
unsigned countWhole(const unsigned *masks) {
  unsigned whole = 0;
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_TRUE(masks[i] >> i % 32 & 1) << i;
    for (unsigned k = 0; k < 32; ++k)
      if (masks[i] >> k & 1)
        EXPECT_EQ(masks[i / 32 * 32 + k], masks[i]) << i << ' ' << k;
    whole += masks[i] == ~0u;
  }
  return whole;
}

struct Together : Warps {
  CudaProgram program{"warps.cu", GetParam()};
  std::vector<int> x = std::vector<int>(64);
  unsigned run(uint64_t seed, int kind) {
    program.options.seed = seed;
    auto *masks = program.allocate<unsigned>(64);
    int *out = program.upload(std::vector<int>(2));
    if (kind < 0)
      program.expectRun("togetherBehindLoop", {1}, {64}, program.upload(x), out, masks);
    else
      program.expectRun("together", {1}, {64}, program.upload(x), out, masks, kind);
    return countWhole(masks);
  }
};

TEST_P(Together, LanesNeedNotMeetBehindABranch) {
  for (int i = 0; i < 64; ++i)
    x[i] = i * 7 % 3;
  for (int kind : {-1, 0}) {
    EXPECT_EQ(run(0, kind), 64u); // the natural order
    unsigned whole = 0;
    for (uint64_t seed = 1; seed < 9; ++seed)
      whole += run(seed, kind);
    EXPECT_LT(whole, 8 * 64u);
    EXPECT_GT(whole, 0u);
  }
}

TEST_P(Together, LanesMeetWhereTheyAreSynchronised) {
  for (int i = 0; i < 64; ++i)
    x[i] = i * 7 % 3;
  for (uint64_t seed = 0; seed < 9; ++seed)
    for (int kind : {1, 2})
      EXPECT_EQ(run(seed, kind), 64u);
  // All lanes of a warp take the same side.
  for (int i = 0; i < 64; ++i)
    x[i] = i / 32;
  for (uint64_t seed = 0; seed < 9; ++seed)
    for (int kind : {-1, 0})
      EXPECT_EQ(run(seed, kind), 64u);
}

TEST_P(Together, ExchangesShowWhoReliesOnIt) {
  for (int i = 0; i < 64; ++i)
    x[i] = i % 5 - 2;
  std::set<int> sums[2];
  for (int synchronises : {0, 1})
    for (uint64_t seed = 0; seed < 9; ++seed) {
      program.options.seed = seed;
      int *out = program.upload(std::vector<int>(3));
      program.expectRun("sumsOfWarps", {1}, {64}, program.upload(x), out, synchronises);
      sums[synchronises].insert(out[0]);
    }
  EXPECT_GT(sums[0].size(), 1u);
  EXPECT_EQ(sums[1].size(), 1u);
}

TEST_P(Together, ExchangesThroughMemoryNeedASynchronisation) {
  for (int i = 0; i < 32; ++i)
    x[i] = i & 1;
  for (uint64_t seed = 0; seed < 4; ++seed)
    for (int synchronises : {0, 1}) {
      program.options.seed = seed;
      int *out = program.allocate<int>(32);
      kbrt::LaunchResult result =
          program.launch("exchangesThroughMemory", {1}, {32}, program.upload(x), out, synchronises);
      ASSERT_EQ(result.status, kbrt::LaunchStatus::Ok) << result.message;
      bool isRight = true;
      for (int i = 0; i < 32; ++i)
        isRight &= out[i] == 31 - i + ((31 - i) & 1 ? 0 : 100);
      EXPECT_EQ(isRight, synchronises == 1) << seed;
      bool findsRace =
          !result.findings.empty() && result.findings[0].kind == kbrt::FindingKind::RaceShared;
      EXPECT_EQ(findsRace, GetParam() == kbrt::ImageMode::Check && !synchronises) << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, Together,
                         testing::Values(kbrt::ImageMode::Plain, kbrt::ImageMode::Check,
                                         kbrt::ImageMode::Count));
INSTANTIATE_TEST_SUITE_P(Modes, Warps,
                         testing::Values(kbrt::ImageMode::Plain, kbrt::ImageMode::Check,
                                         kbrt::ImageMode::Count));

} // namespace
