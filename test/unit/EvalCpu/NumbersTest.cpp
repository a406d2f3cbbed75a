//===- NumbersTest.cpp - Small floats, approximations, inline PTX ---------===//
#include "CudaProgram.h"
#include <cmath>

using namespace kbopt;
using namespace kbopt::test;

namespace {

float toHalf(double x) { return float(_Float16(x)); }
float toBrain(double x) {
  uint32_t bits;
  float single = float(x);
  memcpy(&bits, &single, 4);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  memcpy(&single, &bits, 4);
  return single;
}

struct Numbers : testing::Test {
  CudaProgram program{"numbers.cu"};
  std::vector<float> run(const char *kernel, std::vector<float> input, unsigned count) {
    float *out = program.allocate<float>(count);
    program.expectRun(kernel, {1}, {1}, program.upload(input), out);
    return {out, out + count};
  }
};

TEST_F(Numbers, HalfRoundsOnce) {
  float a = toHalf(1.2345), b = toHalf(3.3), c = toHalf(-0.77);
  std::vector<float> out = run("halves", {1.2345f, 3.3f, -0.77f}, 14);
  EXPECT_EQ(out[0], toHalf(double(a) + b));
  EXPECT_EQ(out[1], toHalf(double(a) * b + c));
  EXPECT_NEAR(out[2], a / b, 0.001);
  EXPECT_EQ(out[3], 2.f);
  EXPECT_NEAR(out[4], std::sqrt(b), 0.001);
  EXPECT_NEAR(out[5], std::exp(c), 0.001);
  EXPECT_EQ(out[6], toHalf(double(a) * c + a));
  EXPECT_EQ(out[7], toHalf(double(b) * c + b));
  EXPECT_EQ(out[8], 1.f);
  EXPECT_EQ(out[9], b);
  EXPECT_EQ(out[10], 1.f);
  EXPECT_EQ(out[11], toHalf(double(a) * b - c));
  EXPECT_EQ(out[12], -4.f);
  EXPECT_NEAR(out[13], 1 / b + a, 0.001);
}

TEST_F(Numbers, BrainFloatRoundsOnce) {
  float a = toBrain(1.2345), b = toBrain(3.3), c = toBrain(-0.77);
  std::vector<float> out = run("brains", {1.2345f, 3.3f, -0.77f, 1.0078125f, 1.5f, -0x1p-100f}, 11);
  EXPECT_EQ(out[0], toBrain(double(a) + b));
  EXPECT_EQ(out[1], toBrain(double(a) * b + c));
  EXPECT_EQ(out[2], a);
  EXPECT_EQ(out[3], toBrain(double(a) * a));
  EXPECT_EQ(out[4], toBrain(double(b) * b));
  EXPECT_EQ(out[5], 1.f);
  EXPECT_EQ(out[6], a);
  EXPECT_EQ(out[7], c + toBrain(double(a) * b));
  EXPECT_EQ(out[8], 1.5078125f); // just below a tie
  EXPECT_EQ(out[9], toBrain(double(a) * b + c));
  EXPECT_EQ(out[10], toBrain(toBrain(double(a) * b) + double(c)));
}

TEST_F(Numbers, FunctionsAreClose) {
  double x = 0.8125;
  std::vector<float> out = run("approximations", {float(x)}, 13);
  double expected[] = {
      std::exp(x),  std::log(x), std::sin(x),        x * x,       x / 3,       1 / std::sqrt(x),
      std::tanh(x), std::exp(x), std::sin(812500.0), std::erf(x), std::exp(x), std::pow(x, 1.7),
      std::tanh(x)};
  for (int i = 0; i < 13; ++i)
    EXPECT_NEAR(out[i], expected[i], 2e-6 * std::fabs(expected[i])) << i;
}

TEST_F(Numbers, ExtremesLeaveOutWhatIsNoNumber) {
  float none = NAN;
  std::vector<float> x = {none, 2, 1, 3, 3, none, 1,    2,    1,    3,
                          none, 2, 2, 1, 3, none, none, none, none, none};
  float *out = program.allocate<float>(10);
  program.expectRun("extremes", {1}, {5}, program.upload(x), out);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(out[2 * i], 3.f) << i;
    EXPECT_EQ(out[2 * i + 1], 1.f) << i;
  }
  EXPECT_EQ(out[8], 0.f);
  EXPECT_EQ(out[9], 8.f);
}

// PTX: by more than 2^126 the quotient is 0, or NaN of an infinity.
TEST_F(Numbers, FastQuotientsByLargeNumbersAreZero) {
  float inf = INFINITY;
  std::vector<float> x = {0x1p120f, -0x1p120f, inf, 6, 6},
                     y = {0x1p127f, 0x1.8p126f, 0x1p127f, inf, 3};
  float *out = program.allocate<float>(10);
  program.expectRun("quotients", {1}, {5}, program.upload(x), program.upload(y), out);
  EXPECT_EQ(out[0], 0.f);
  EXPECT_EQ(out[1], 0x1p-7f);
  EXPECT_EQ(out[2], 0.f);
  EXPECT_TRUE(std::signbit(out[2]));
  EXPECT_TRUE(std::isnan(out[4]));
  EXPECT_EQ(out[5], inf);
  EXPECT_EQ(out[6], 0.f);
  EXPECT_EQ(out[8], 2.f);
}

TEST_F(Numbers, ShiftsClampAsTheHardwareDoes) {
  std::vector<int> by = {0, 5, 31, 32, 40, 63, 64, 300, -1};
  std::vector<int> x = {-7, -7, -7, -7, 9, -7, -7, 9, -7};
  unsigned count = by.size();
  auto *out = program.allocate<unsigned>(3 * count);
  auto *wide = program.allocate<unsigned long long>(count);
  program.expectRun("shifts", {1}, {count}, program.upload(by), program.upload(x), out, wide);
  for (unsigned i = 0; i < count; ++i) {
    unsigned amount = by[i];
    auto bits = static_cast<unsigned>(x[i]);
    EXPECT_EQ(out[3 * i], amount > 31 ? 0u : bits << amount) << amount;
    EXPECT_EQ(out[3 * i + 1], amount > 31 ? 0u : bits >> amount) << amount;
    EXPECT_EQ(out[3 * i + 2], static_cast<unsigned>(x[i] >> std::min(amount, 31u))) << amount;
    EXPECT_EQ(wide[i], amount > 63 ? 0ull : 1ull << amount) << amount;
  }
}

TEST_F(Numbers, UnderstandsInlinePtx) {
  int *in = program.upload<int>({3, 4, 5, 6});
  int *out = program.allocate<int>(13);
  program.expectRun("assembly", {1}, {1}, in, out);
  EXPECT_EQ(std::vector<int>(out, out + 13),
            (std::vector<int>{7, 115, 5, 5, 0x34, 1 ^ 3 ^ 7, 0, 11, 4, 6, 0x00010002, 44, 3}));
}

} // namespace
