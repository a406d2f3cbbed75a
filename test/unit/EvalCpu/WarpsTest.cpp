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

INSTANTIATE_TEST_SUITE_P(Modes, Warps,
                         testing::Values(kbrt::ImageMode::Plain, kbrt::ImageMode::Check,
                                         kbrt::ImageMode::Count));

} // namespace
