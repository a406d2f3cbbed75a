//===- OracleSumTest.cpp - the arithmetic of shadows ----------------------===//
#include "OracleSum.h"
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace kbrt;
using namespace kbrt::oracle;

namespace {

constexpr double u = 0x1p-24;

OracleSum sumOf(const std::vector<double> &terms) {
  OracleSum sum = exactly(terms.front());
  for (size_t i = 1; i < terms.size(); ++i)
    sum = add(sum, exactly(terms[i]));
  return sum;
}

OracleSum product(const OracleSum &x, const OracleSum &y) {
  return compute(OracleOperation::Multiply, FloatFormat::F32, FloatFormat::F32, x, &y);
}

} // namespace

TEST(OracleSum, BoundsEveryOrderByTheLargestPartialSum) {
  // Partial sums lie between -100.1f and 100.1f + 0.3f.
  const double a = 100.1f, b = 0.3f;
  const OracleSum sum = sumOf({a, b, -a});
  EXPECT_DOUBLE_EQ(sum.value, b);
  EXPECT_DOUBLE_EQ(sum.magnitude, 2 * a + b);
  EXPECT_EQ(sum.terms, 3);
  EXPECT_DOUBLE_EQ(errorOf(sum, FloatFormat::F32), 2 * u * (a + b));
  EXPECT_GE(errorOf(sum, FloatFormat::F32), std::fabs((float(a) + float(b)) - float(a) - b));
}

TEST(OracleSum, IsExactWhereEveryOrderIs) {
  EXPECT_EQ(errorOf(sumOf({3, -7, 12}), FloatFormat::F32), 0);
  // One unit beyond what the type can count.
  EXPECT_EQ(errorOf(sumOf({0x1p24 - 2, 2}), FloatFormat::F32), 0);
  EXPECT_GT(errorOf(sumOf({0x1p24 - 1, 2}), FloatFormat::F32), 0);
  EXPECT_EQ(errorOf(sumOf({0x1p24 - 1, -0x1p24, 2}), FloatFormat::F32), 2 * u * (0x1p24 + 1));
  // Subnormal numbers are multiples of the smallest.
  EXPECT_EQ(errorOf(sumOf({3 * 0x1p-149, -5 * 0x1p-149}), FloatFormat::F32), 0);
  EXPECT_EQ(errorOf(sumOf({2047, 1}), FloatFormat::F16), 0);
  EXPECT_GT(errorOf(sumOf({2048, 1}), FloatFormat::F16), 0);
}

TEST(OracleSum, GrowsWithTheRootOfTheTermsUnlessTheyAreEqual) {
  const std::vector<double> terms(10001, 0.1f);
  const OracleSum sum = sumOf(terms);
  const double each = u * sum.magnitude;
  EXPECT_NEAR(errorOf(sum, FloatFormat::F32) / each, 2 * std::sqrt(10000), 1e-9);
  assumeIndependentErrors(false);
  EXPECT_NEAR(errorOf(sum, FloatFormat::F32) / each, 10000, 1e-9);
  assumeIndependentErrors(true);
  float sequential = 0;
  for (double term : terms)
    sequential += static_cast<float>(term);
  EXPECT_LE(std::fabs(sequential - sum.value), 10000 * each);
}

TEST(OracleSum, PassesErrorsOnThroughProducts) {
  EXPECT_EQ(product(exactly(3), exactly(5)).error, 0);
  const OracleSum rounded = product(exactly(0.1f), exactly(0.1f));
  EXPECT_DOUBLE_EQ(rounded.error, u * rounded.value);
  const OracleSum x = sumOf({0.1f, 0.7f}), scaled = product(x, exactly(1024));
  EXPECT_EQ(scaled.terms, 1);
  EXPECT_EQ(scaled.longest, 2);
  EXPECT_DOUBLE_EQ(scaled.error, 1024 * errorOf(x, FloatFormat::F32) + u * scaled.value);
}

TEST(OracleSum, PassesErrorsOnThroughFunctions) {
  auto exponential = [](const OracleSum &x) {
    return compute(OracleOperation::Exp, FloatFormat::F32, FloatFormat::F32, x, nullptr);
  };
  OracleSum x = exactly(0.7f);
  x.error = 1e-5;
  const OracleSum y = exponential(x);
  EXPECT_DOUBLE_EQ(y.value, std::exp(double(0.7f)));
  EXPECT_NEAR(y.error, 1e-5 * y.value, 2e-6 * y.value);
  // A quotient that is a number of the type has no error, and a quotient by zero no bound.
  const OracleSum four = exactly(4), zero = exactly(0), one = exactly(1), three = exactly(3);
  auto quotient = [](const OracleSum &a, const OracleSum &b) {
    return compute(OracleOperation::Divide, FloatFormat::F32, FloatFormat::F32, a, &b);
  };
  EXPECT_EQ(quotient(one, four).error, 0);
  EXPECT_GT(quotient(one, three).error, 0);
  EXPECT_FALSE(std::isfinite(quotient(one, zero).value));
}

TEST(OracleSum, ClosesSumsInTheirOwnType) {
  const OracleSum sum = sumOf({0.5, 0x1p-11, 0x1p-12});
  const OracleSum widened =
      compute(OracleOperation::Convert, FloatFormat::F16, FloatFormat::F32, sum, nullptr);
  EXPECT_DOUBLE_EQ(widened.value, sum.value);
  EXPECT_EQ(widened.error, errorOf(sum, FloatFormat::F16));
  EXPECT_GT(widened.error, 0);
  const OracleSum third = exactly(1.0 / 3);
  const OracleSum narrowed =
      compute(OracleOperation::Convert, FloatFormat::F64, FloatFormat::F16, third, nullptr);
  EXPECT_DOUBLE_EQ(narrowed.value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(narrowed.error, 0x1p-11 / 3);
}
