//===- WgmmaTest.cpp - Matrix operations of four warps --------------------===//
#include "CudaProgram.h"
#include <cmath>

using namespace kbopt;
using namespace kbopt::test;

namespace {

struct Wgmma : testing::Test {
  static constexpr int halves = 32768;
  /// Small integers in a fixed order, which every sum keeps exact.
  static std::vector<_Float16> numbers() {
    std::vector<_Float16> all(halves);
    for (unsigned i = 0; i < halves; ++i) {
      unsigned x = i * 2654435761u;
      x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
      all[i] = _Float16(float(int(x % 61) - 30));
    }
    return all;
  }
  static CudaProgram program(kbrt::ImageMode mode) {
    return CudaProgram("wgmma.cu", mode, {"--cuda-gpu-arch=sm_90a", "--no-cuda-gpu-arch=sm_90"});
  }
  struct uint4 {
    unsigned x, y, z, w;
  };
};

/// The operand that varies: its swizzle, whether it is B, and the descriptor's address and
/// distances; and the sum of all results, weighted, as an H200 gave it.
struct Probe {
  unsigned kernel, swizzle, isB, at, leading, stride;
  double sum;
};

TEST_F(Wgmma, FindsElementsWhereAChipDoes) {
  const Probe probes[] = {
      {0, 0, 0, 256, 128, 2048, 2804167},    {0, 0, 1, 96, 16, 256, 3203056},
      {0, 1, 0, 1024, 512, 2048, 677482},    {0, 1, 1, 128, 512, 1024, -2495918},
      {0, 2, 0, 2048, 16, 1024, 1967118},    {0, 2, 1, 2048, 128, 1024, -1757173},
      {0, 3, 0, 0, 128, 512, 27723},         {0, 3, 1, 1024, 128, 1024, -538089},
      {1, 0, 0, 1024, 4096, 1024, -2906261}, {1, 0, 1, 64, 1024, 1024, 1657554},
      {1, 1, 0, 256, 1024, 256, 1083819},    {1, 1, 1, 0, 1024, 256, -576011},
      {1, 2, 0, 16, 1024, 128, 2700226},     {1, 2, 1, 16, 1024, 128, 3466160},
      {1, 3, 0, 64, 4096, 128, 2037881},     {1, 3, 1, 1024, 512, 128, -3554298},
      {2, 0, 0, 2048, 4096, 512, -15125},    {2, 0, 1, 64, 1024, 1024, 272154},
      {2, 1, 0, 64, 4096, 512, -1185620},    {2, 1, 1, 2048, 512, 1024, 994858},
      {2, 2, 0, 16, 16, 256, 5613193},       {2, 2, 1, 64, 1024, 1024, -107382},
      {2, 3, 0, 0, 16, 1024, -206111},       {2, 3, 1, 64, 128, 1024, -2764720},
      {3, 0, 0, 96, 16, 2048, 1177036},      {3, 0, 1, 96, 128, 1024, -1002431},
      {3, 1, 0, 16, 4096, 256, -3717320},    {3, 1, 1, 256, 16, 1024, 1207200},
      {3, 2, 0, 16, 1024, 128, -255583},     {3, 2, 1, 16, 16, 512, -441161},
      {3, 3, 0, 16, 512, 128, -4240718},     {3, 3, 1, 1024, 16, 256, 5599301}};
  CudaProgram program = Wgmma::program(kbrt::ImageMode::Plain);
  ASSERT_TRUE(program.built.unsupported.empty()) << program.built.unsupported[0].describe();
  program.dynamicSharedBytes = 2 * halves;
  const char *kernels[] = {"rowsRows", "rowsColumns", "columnsRows", "columnsColumns"};
  _Float16 *in = program.upload(numbers());
  auto *out = program.allocate<float>(128 * 12);
  for (const Probe &probe : probes) {
    uint4 operands[2] = {{0, 1024, 1024, 1}, {16384, 1024, 1024, 1}};
    operands[probe.isB] = {probe.isB * 16384 + probe.at, probe.leading, probe.stride,
                           probe.swizzle};
    program.expectRun(kernels[probe.kernel], {1}, {128}, in, out, operands[0], operands[1]);
    double sum = 0;
    for (int i = 0; i < 128 * 12; ++i)
      sum += out[i] * (1.0 + i % 97);
    EXPECT_EQ(sum, probe.sum) << kernels[probe.kernel] << " swizzle " << probe.swizzle << " at "
                              << probe.at;
  }
}

TEST_F(Wgmma, TakesAFromRegisters) {
  CudaProgram program = Wgmma::program(kbrt::ImageMode::Check);
  ASSERT_TRUE(program.built.unsupported.empty()) << program.built.unsupported[0].describe();
  program.dynamicSharedBytes = 2 * halves;
  std::vector<_Float16> all = numbers();
  auto *out = program.allocate<float>(64 * 8);
  program.expectRun("registers", {1}, {128}, program.upload(all), out);
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 8; ++column) { // rows of 32 bytes: their halves change places
      int term = row % 16, at = column * 16 + (term / 8 ^ column / 4 % 2) * 8 + term % 8;
      ASSERT_EQ(out[row * 8 + column], -float(all[at]) * (row + 1)) << row << ", " << column;
    }
}

TEST_F(Wgmma, FindsMistakes) {
  CudaProgram program = Wgmma::program(kbrt::ImageMode::Check);
  program.dynamicSharedBytes = 2 * halves;
  auto run = [&](int mistake) {
    return program.launch("mistaken", {1}, {128}, program.upload(numbers()),
                          program.allocate<float>(128 * 12), mistake);
  };
  EXPECT_TRUE(run(0).findings.empty()) << run(0).findings[0].message;
  const char *messages[] = {
      "", "that its thread has not waited for when it ends", "that a wgmma in flight still reads",
      "written without a fence.proxy.async behind it", "without a wgmma.fence before it"};
  for (int mistake = 1; mistake < 5; ++mistake) {
    kbrt::LaunchResult result = run(mistake);
    bool isFound = false;
    for (const kbrt::Finding &finding : result.findings)
      isFound |= finding.message.find(messages[mistake]) != std::string::npos;
    EXPECT_TRUE(isFound) << messages[mistake];
  }
  kbrt::LaunchResult outside = run(5), differing = run(6), racing = run(7);
  EXPECT_EQ(outside.status, kbrt::LaunchStatus::Fault);
  EXPECT_NE(outside.message.find("a matrix descriptor of wgmma leads to byte"), std::string::npos)
      << outside.message;
  EXPECT_EQ(differing.status, kbrt::LaunchStatus::DivergentBarrier);
  ASSERT_FALSE(racing.findings.empty());
  EXPECT_EQ(racing.findings[0].kind, kbrt::FindingKind::RaceShared);
}

} // namespace
