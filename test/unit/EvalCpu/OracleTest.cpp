//===- OracleTest.cpp - shadows of real device code -----------------------===//
#include "CudaProgram.h"
#include "kbrt/DeviceAbi.h"
#include <cmath>

using namespace kbopt::test;
using kbrt::FloatFormat;
using kbrt::OracleSum;

namespace {

/// Of neither sign more than of the other, and of different size.
std::vector<float> terms(int count) {
  std::vector<float> x;
  for (int i = 0; i < count; ++i)
    x.push_back(static_cast<float>(std::sin(1.7 * i) * (1 + i % 7)));
  return x;
}

double exactSum(const std::vector<float> &x) {
  double sum = 0;
  for (float term : x)
    sum += term;
  return sum;
}

double magnitudeOf(const std::vector<float> &x) {
  double sum = 0;
  for (float term : x)
    sum += std::fabs(term);
  return sum;
}

OracleSum shadowAt(const void *address, FloatFormat format = FloatFormat::F32) {
  OracleSum sum;
  kbrt_oracle_load(format, address, &sum);
  return sum;
}

constexpr int count = 1000;

struct Oracle : testing::Test {
  CudaProgram program{"sums.cu", kbrt::ImageMode::Oracle};
  std::vector<float> x = terms(count);

  /// \p sum is that of `x`, one term for each and \p more zeros.
  void expectSum(const OracleSum &sum, double more) {
    const double magnitude = magnitudeOf(x);
    EXPECT_NEAR(sum.value, exactSum(x), 1e-12 * magnitude);
    EXPECT_NEAR(sum.magnitude, magnitude, 1e-12 * magnitude);
    EXPECT_EQ(sum.terms, count + more);
    EXPECT_EQ(sum.error, 0);
  }
};

} // namespace

TEST_F(Oracle, FollowsALoop) {
  float *y = program.upload(std::vector<float>{0});
  program.expectRun("sequential", {1}, {1}, program.upload(x), y, count);
  EXPECT_NE(*y, exactSum(x));
  expectSum(shadowAt(y), 1);
}

TEST_F(Oracle, FollowsAtomicAdditions) {
  float *y = program.upload(std::vector<float>{0});
  program.expectRun("atomics", {8}, {128}, program.upload(x), y, count);
  expectSum(shadowAt(y), 1);
}

TEST_F(Oracle, FollowsExchangesOfBits) {
  float *y = program.upload(std::vector<float>{0});
  program.expectRun("exchanges", {8}, {128}, program.upload(x), y, count);
  expectSum(shadowAt(y), 1);
}

TEST_F(Oracle, FollowsSharedMemoryAndShuffles) {
  float *y = program.upload(std::vector<float>{0});
  program.expectRun("block", {1}, {128}, program.upload(x), y, count);
  expectSum(shadowAt(y), 128);
}

TEST_F(Oracle, FollowsArraysVectorsAndCopies) {
  float *y = program.upload(std::vector<float>{0});
  program.expectRun("detours", {1}, {1}, program.upload(x), y, count);
  expectSum(shadowAt(y), 9);
}

TEST_F(Oracle, RoundsProductsAndQuotients) {
  const std::vector<float> z = terms(2 * count);
  float *y = program.upload(std::vector<float>{0});
  program.expectRun("products", {1}, {1}, program.upload(x), program.upload(z), y, count);
  double sum = 0, magnitude = 0;
  for (int i = 0; i < count; ++i) {
    sum += double(x[i]) * z[i];
    magnitude += std::fabs(double(x[i]) * z[i]);
  }
  const OracleSum mean = shadowAt(y);
  EXPECT_NEAR(mean.value, sum / count, 1e-12 * magnitude / count);
  EXPECT_EQ(mean.terms, 1);
  EXPECT_EQ(mean.longest, count + 1);
  // Each product is rounded, a thousand times they are added, and the quotient is rounded.
  const double u = 0x1p-24, least = u * magnitude / count,
               most = (1 + 2 * std::sqrt(count)) * least;
  EXPECT_GT(mean.error, 1.5 * least);
  EXPECT_LT(mean.error, 1.1 * most);
  EXPECT_LT(std::fabs(*y - mean.value), mean.error);
}

TEST_F(Oracle, ComputesFunctionsInFloat64) {
  float *y = program.upload(std::vector<float>{0});
  program.expectRun("exponentials", {1}, {1}, program.upload(x), y, count);
  double most = -HUGE_VAL, sum = 0;
  for (float term : x)
    most = std::max(most, double(term));
  for (float term : x)
    sum += std::exp(term - most);
  const OracleSum result = shadowAt(y);
  EXPECT_NEAR(result.value, std::log(sum) + most, 1e-13);
  EXPECT_GT(result.error, 0);
  EXPECT_LT(result.error, 1e-4);
}

TEST_F(Oracle, FollowsHalvesInIntegers) {
  std::vector<uint16_t> ones(count, 0x3555); // 0.3333
  auto *y = reinterpret_cast<uint16_t *>(program.upload(std::vector<uint16_t>{0}));
  program.expectRun("halves", {1}, {1}, program.upload(ones), y, count);
  const OracleSum sum = shadowAt(y, FloatFormat::F16);
  EXPECT_NEAR(sum.value, count * 0x1.554p-2, 1e-9);
  EXPECT_EQ(sum.terms, count + 2);
}

TEST_F(Oracle, FollowsMatrixOperations) {
  constexpr int k = 64;
  std::vector<uint16_t> a(16 * k, 0x3555), b(k * 16, 0xb555); // 0.3333 and -0.3333
  float *c = program.upload(std::vector<float>(256, 0));
  program.expectRun("matrices", {1}, {32}, program.upload(a), program.upload(b), c, k);
  for (int i : {0, 17, 255}) {
    const OracleSum sum = shadowAt(c + i);
    EXPECT_NEAR(sum.value, -k * 0x1.554p-2 * 0x1.554p-2, 1e-9) << i;
    EXPECT_EQ(sum.terms, k + 1) << i;
  }
}
