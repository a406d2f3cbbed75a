//===- ReturnsTest.cpp - Threads that end before a barrier ----------------===//
#include "CudaProgram.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

struct Returns : testing::TestWithParam<kbrt::ImageMode> {};

// A thread that returned is not waited for, in any order of threads.
TEST_P(Returns, HoldUpNoBarrier) {
  CudaProgram program("returns.cu", GetParam());
  for (uint64_t seed : {0, 3}) {
    program.options.seed = seed;
    for (const char *kernel :
         {"fromFunction", "fromNestedFunction", "fromLambda", "byExit", "byExitInFunction"}) {
      int *out = program.upload(std::vector<int>(64));
      program.expectRun(kernel, {1}, {64}, out, 40);
      for (int i = 0; i < 40; ++i)
        EXPECT_EQ(out[i], 39 - i) << kernel;
    }
    int *out = program.upload(std::vector<int>(64));
    program.expectRun("fromLoop", {1}, {64}, out, 66);
    EXPECT_EQ(out[10], 0 + 1 + 2 + 3 + 1000);
    EXPECT_EQ(out[63], 0 + 1 + 2);
    out = program.upload(std::vector<int>(64));
    program.expectRun("fromSwitch", {1}, {64}, out, 40);
    EXPECT_EQ(out[10], 0 + 1 + 2);
    EXPECT_EQ(out[50], -7);
    out = program.upload(std::vector<int>(64));
    program.expectRun("beforeEveryKind", {1}, {64}, out, 40);
    EXPECT_EQ(out[10], 40 * 100 + 32 + 10000);
    EXPECT_EQ(out[35], 40 * 100 + 8 + 10000);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Returns,
                         testing::Values(kbrt::ImageMode::Plain, kbrt::ImageMode::Check,
                                         kbrt::ImageMode::Count));

TEST(EarlyReturns, AreNoWaysAroundABarrier) {
  CudaProgram program("returns.cu", kbrt::ImageMode::Check);
  int *out = program.upload(std::vector<int>(64));
  for (const char *kernel : {"goesOnBehindFunction", "goesOnBehindLoop"}) {
    kbrt::LaunchResult result = program.launch(kernel, {1}, {64}, out, 40);
    EXPECT_EQ(result.status, kbrt::LaunchStatus::DivergentBarrier) << kernel;
    EXPECT_NE(result.message.find("went around"), std::string::npos) << result.message;
  }
}

} // namespace
