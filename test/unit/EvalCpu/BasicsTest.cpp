//===- BasicsTest.cpp - Plain CUDA C++ on the CPU device ------------------===//
#include "CudaProgram.h"
#include <cmath>

using namespace kbopt;
using namespace kbopt::test;
using kbrt::LaunchStatus;

namespace {

struct Basics : testing::Test {
  CudaProgram program{"basics.cu"};
};

TEST_F(Basics, DescribesKernelsParametersAndVariables) {
  const kbrt::KernelInfo *saxpy = program.image->findKernel("saxpy");
  ASSERT_TRUE(saxpy);
  EXPECT_FALSE(saxpy->needsFibers);
  EXPECT_TRUE(saxpy->loop);
  ASSERT_EQ(saxpy->paramCount, 4u);
  EXPECT_STREQ(saxpy->params[2].name, "x");
  EXPECT_STREQ(saxpy->params[2].elementType, "float");
  EXPECT_TRUE(saxpy->params[2].isConst);
  EXPECT_TRUE(saxpy->params[2].isRestrict);
  EXPECT_FALSE(saxpy->params[3].isConst);
  EXPECT_EQ(saxpy->params[3].offset, 16u);
  const kbrt::KernelInfo *objects = program.image->findKernel("objects");
  ASSERT_TRUE(objects);
  EXPECT_TRUE(objects->params[0].isByValue);
  ASSERT_EQ(objects->params[0].pointerCount, 1u);
  EXPECT_EQ(objects->params[0].pointerOffsets[0], 0u);
  EXPECT_TRUE(objects->usesIndirectCalls);
  const kbrt::KernelInfo *reverse = program.image->findKernel("reverse");
  EXPECT_TRUE(reverse->usesBarrier);
  EXPECT_TRUE(reverse->usesDynamicShared);
  EXPECT_EQ(reverse->staticSharedBytes, 256u);
  EXPECT_FALSE(reverse->loop);
  ASSERT_TRUE(program.image->findSymbol("total"));
  EXPECT_EQ(program.image->findSymbol("scales")->kind, kbrt::VariableKind::Constant);
}

TEST_F(Basics, ComputesWithContraction) {
  std::vector<float> x(100), y(100);
  for (int i = 0; i < 100; ++i)
    x[i] = 0.1f * i, y[i] = 1.f / (i + 1);
  float *out = program.upload(y);
  program.expectRun("saxpy", {4}, {32}, 100, 1.5f, program.upload(x), out);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(out[i], std::fma(1.5f, x[i], y[i] * float((i & 3) + 1))) << i;
}

TEST_F(Basics, KnowsItsPlaceInThreeDimensions) {
  unsigned *out = program.allocate<unsigned>(6 * 60);
  program.expectRun("whereAmI", {3, 2, 1}, {5, 4, 3}, out);
  for (unsigned block = 0; block < 6; ++block)
    for (unsigned thread = 0; thread < 60; ++thread)
      EXPECT_EQ(out[block * 60 + thread], thread + 1000 * block + 100000 * (thread % 32));
}

TEST_F(Basics, SharesMemoryBetweenBarriers) {
  std::vector<int> data(128);
  for (int i = 0; i < 128; ++i)
    data[i] = i;
  int *out = program.upload(data);
  program.dynamicSharedBytes = 64 * sizeof(int);
  program.expectRun("reverse", {2}, {64}, out);
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], (i / 64) * 64 + 63 - i % 64 + 32000);
}

TEST_F(Basics, PerformsAtomics) {
  int *i = program.upload<int>({0, 0, -5, 5, 0, 0});
  unsigned *u = program.upload<unsigned>({0, 0, 0, 0, ~0u, 0, 0, 0});
  auto *l = program.upload<unsigned long long>({0, 0});
  float *f = program.upload<float>({0, 0});
  double *d = program.upload<double>({0});
  program.expectRun("atomics", {1}, {20}, i, u, l, f, d);
  EXPECT_EQ(std::vector<int>(i, i + 6), (std::vector<int>{40, 2, 19, -19, 20, 20}));
  EXPECT_EQ(std::vector<unsigned>(u, u + 8),
            (std::vector<unsigned>{60, 3, 0, 0, 0xfff00000, 0x000fffff, 0, 20}));
  EXPECT_EQ(l[0], 80ull);
  EXPECT_EQ(f[0], 10.f);
  EXPECT_EQ(d[0], 5.0);
  EXPECT_EQ(*reinterpret_cast<int *>(program.image->findSymbol("total")->address), 27);
}

TEST_F(Basics, CallsVirtuallyRecursivelyAndThroughPointers) {
  struct {
    int *out;
    short tags[3];
    double weight;
  } arguments{program.allocate<int>(8), {5, 6, 7}, 100.5};
  std::string printed;
  program.options.print = [&](std::string_view text) { printed += text; };
  program.expectRun("objects", {1}, {1}, arguments, 1);
  EXPECT_EQ(std::vector<int>(arguments.out, arguments.out + 8),
            (std::vector<int>{9, 720, 63, 7, 40, 107, 25, 77}));
  EXPECT_EQ(printed, "720 text 2.50\n");
  program.expectRun("objects", {1}, {1}, arguments, 0);
  EXPECT_EQ(arguments.out[0], 1);
  EXPECT_EQ(arguments.out[2], 42);
}

TEST_F(Basics, AnswersCornersAsAGpuDoes) {
  float *x = program.upload<float>({NAN, 1e20f, -5.f, 1.f, 3.f, 1e-10f});
  int *out = program.allocate<int>(11);
  float *f = program.allocate<float>(8);
  program.expectRun("corners", {1}, {1}, x, 0, out, f);
  EXPECT_EQ(std::vector<int>(out, out + 11),
            (std::vector<int>{0, 2147483647, 0, -1, -1, 2, 32 + 8 + 4 + 2, 0x55771133, 256,
                              0x3ff00000, 110}));
  EXPECT_EQ(f[0], 1.f / 3.f);
  EXPECT_EQ(f[1], std::sqrt(3.f));
  EXPECT_EQ(f[2], 1.f);
  EXPECT_EQ(f[3], std::nextafter(1.f, 2.f));
  EXPECT_EQ(f[4], std::fma(1.f, 3.f, 1e-10f));
  EXPECT_EQ(f[6], 2.f);
  EXPECT_EQ(f[7], 1.f);
}

TEST_F(Basics, EndsAsTheProgramAsks) {
  EXPECT_EQ(program.launch("stop", {1}, {4}, 0).status, LaunchStatus::Ok);
  EXPECT_EQ(program.launch("stop", {1}, {4}, 1).status, LaunchStatus::Trap);
  EXPECT_EQ(program.launch("stop", {1}, {4}, 2).status, LaunchStatus::Ok);
  kbrt::LaunchResult result = program.launch("stop", {1}, {4}, 3);
  EXPECT_EQ(result.status, LaunchStatus::Unsupported);
  EXPECT_NE(result.message.find("fantasy.u32"), std::string::npos) << result.message;
  ASSERT_EQ(program.built.unsupported.size(), 1u);
  EXPECT_EQ(program.built.unsupported[0].kernels, std::vector<std::string>{"stop"});
  EXPECT_GT(program.built.unsupported[0].line, 100u);
}

TEST_F(Basics, LetsWaitingThreadsTakeTurns) {
  int *flag = program.upload<int>({0});
  int *out = program.allocate<int>(8);
  EXPECT_TRUE(program.image->findKernel("handOver")->needsFibers);
  program.expectRun("handOver", {1}, {8}, flag, out);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(out[i], i + 10);
}

} // namespace
