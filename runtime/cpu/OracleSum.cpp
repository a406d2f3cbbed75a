//===- OracleSum.cpp - arithmetic of shadows ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "OracleSum.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace kbrt::oracle {

namespace {

/// Of a rounded term: no multiple of anything.
constexpr double noUnit = -HUGE_VAL;

struct Format {
  int digits;        ///< bits of the significand
  int leastExponent; ///< of the smallest subnormal number
  double largest;
};

Format formatOf(FloatFormat format) {
  switch (format) {
  case FloatFormat::F16:
    return {11, -24, 65504};
  case FloatFormat::BF16:
    return {8, -133, 0x1.fep127};
  case FloatFormat::F32:
    return {24, -149, 0x1.fffffep127};
  case FloatFormat::F64:
    break;
  }
  return {53, -1074, 0x1.fffffffffffffp1023};
}

double roundoffOf(const Format &format) { return std::ldexp(1.0, -format.digits); }

/// The exponent of the lowest bit that is set.
double unitOf(double value) {
  if (value == 0)
    return HUGE_VAL;
  const auto bits = std::bit_cast<uint64_t>(value);
  constexpr int mantissaBits = 52, bias = 1075, exponentMask = 0x7ff;
  const int exponent = static_cast<int>(bits >> mantissaBits & exponentMask);
  const uint64_t mantissa = bits & ((uint64_t(1) << mantissaBits) - 1);
  if (exponent == exponentMask)
    return noUnit;
  const uint64_t whole = exponent ? mantissa | uint64_t(1) << mantissaBits : mantissa;
  return std::max(exponent, 1) - bias + std::countr_zero(whole);
}

bool isRepresentable(double value, const Format &format) {
  if (value == 0)
    return true;
  const double unit = unitOf(value);
  return unit >= format.leastExponent && std::fabs(value) <= format.largest &&
         std::fabs(value) < std::ldexp(1.0, static_cast<int>(unit) + format.digits);
}

/// lambda of the probabilistic bound. Sums of positive terms, the worst for independent errors,
/// have a standard deviation of about 0.24 sqrt(n) u S: eight of them, for outputs of many
/// elements.
constexpr double lambda = 2;

bool independent = true;

/// The factor of u S for n - 1 additions.
double growth(double additions) {
  if (additions <= 0)
    return 0;
  return independent ? std::min(additions, lambda * std::sqrt(additions)) : additions;
}

/// One term that is \p value, with the errors that it inherits and \p roundings of its own, none
/// where it and its operands are exact.
OracleSum term(double value, double inherited, bool isExact, double roundings, FloatFormat to,
               double longest) {
  const Format format = formatOf(to);
  if (inherited == 0 && isExact && isRepresentable(value, format)) {
    OracleSum sum = exactly(value);
    sum.longest = longest;
    return sum;
  }
  const double rounding =
      std::max(roundoffOf(format) * std::fabs(value), std::ldexp(0.5, format.leastExponent));
  return {value, std::fabs(value), 1, inherited + roundings * rounding, noUnit, longest};
}

double evaluate(OracleOperation operation, double x, double y) {
  switch (operation) {
  case OracleOperation::Convert:
    return x;
  case OracleOperation::Multiply:
    return x * y;
  case OracleOperation::Divide:
    return x / y;
  case OracleOperation::Reciprocal:
    return 1 / x;
  case OracleOperation::Sqrt:
    return std::sqrt(x);
  case OracleOperation::ReciprocalSqrt:
    return 1 / std::sqrt(x);
  case OracleOperation::Exp:
    return std::exp(x);
  case OracleOperation::Exp2:
    return std::exp2(x);
  case OracleOperation::Exp10:
    return std::pow(10.0, x);
  case OracleOperation::Expm1:
    return std::expm1(x);
  case OracleOperation::Log:
    return std::log(x);
  case OracleOperation::Log2:
    return std::log2(x);
  case OracleOperation::Log10:
    return std::log10(x);
  case OracleOperation::Log1p:
    return std::log1p(x);
  case OracleOperation::Sin:
    return std::sin(x);
  case OracleOperation::Cos:
    return std::cos(x);
  case OracleOperation::Tan:
    return std::tan(x);
  case OracleOperation::Sinh:
    return std::sinh(x);
  case OracleOperation::Cosh:
    return std::cosh(x);
  case OracleOperation::Tanh:
    return std::tanh(x);
  case OracleOperation::Asin:
    return std::asin(x);
  case OracleOperation::Acos:
    return std::acos(x);
  case OracleOperation::Atan:
    return std::atan(x);
  case OracleOperation::Erf:
    return std::erf(x);
  case OracleOperation::Erfc:
    return std::erfc(x);
  case OracleOperation::Cbrt:
    return std::cbrt(x);
  case OracleOperation::Pow:
    return std::pow(x, y);
  case OracleOperation::Atan2:
    return std::atan2(x, y);
  case OracleOperation::Hypot:
    return std::hypot(x, y);
  }
  return NAN;
}

/// Whether \p value, rounded to float64, is exactly what the operation gives.
bool isExactInFloat64(OracleOperation operation, double value, double x, double y) {
  switch (operation) {
  case OracleOperation::Convert:
    return true;
  case OracleOperation::Multiply:
    return std::fma(x, y, -value) == 0;
  case OracleOperation::Divide:
    return std::fma(value, y, -x) == 0;
  case OracleOperation::Reciprocal:
    return std::fma(value, x, -1) == 0;
  case OracleOperation::Sqrt:
    return std::fma(value, value, -x) == 0;
  default:
    return false;
  }
}

/// How far \p operation moves when its operands do by their errors: at both ends.
double moved(OracleOperation operation, double value, double x, double ofX, double y, double ofY) {
  auto farther = [&](double a, double b) {
    return std::max(std::fabs(evaluate(operation, a, b) - value), 0.0);
  };
  double result = 0;
  if (ofX > 0)
    result += std::max(farther(x - ofX, y), farther(x + ofX, y));
  if (ofY > 0)
    result += std::max(farther(x, y - ofY), farther(x, y + ofY));
  return result;
}

} // namespace

void assumeIndependentErrors(bool assume) { independent = assume; }

OracleSum exactly(double value) { return {value, std::fabs(value), 1, 0, unitOf(value), 1}; }

OracleSum add(const OracleSum &x, const OracleSum &y) {
  const double terms = x.terms + y.terms;
  return {x.value + y.value, x.magnitude + y.magnitude, terms,
          x.error + y.error, std::min(x.unit, y.unit),  std::max({x.longest, y.longest, terms})};
}

double errorOf(const OracleSum &sum, FloatFormat in) {
  const Format format = formatOf(in);
  if (sum.terms <= 1)
    return sum.error;
  const double partial = (sum.magnitude + std::fabs(sum.value)) / 2;
  if (std::isfinite(sum.unit) && partial <= format.largest &&
      partial <= std::ldexp(1.0, static_cast<int>(sum.unit) + format.digits))
    return sum.error;
  return sum.error + growth(sum.terms - 1) * roundoffOf(format) * partial;
}

OracleSum compute(OracleOperation operation, FloatFormat from, FloatFormat to, const OracleSum &x,
                  const OracleSum *y) {
  const double a = x.value, b = y ? y->value : 0, ofA = errorOf(x, from),
               ofB = y ? errorOf(*y, from) : 0,
               longest = y ? std::max(x.longest, y->longest) : x.longest,
               value = evaluate(operation, a, b);
  const bool isExact = ofA == 0 && ofB == 0 && isExactInFloat64(operation, value, a, b);
  switch (operation) {
  case OracleOperation::Convert: // to a wider format it rounds nothing
    return term(value, ofA, isExact, formatOf(to).digits < formatOf(from).digits, to, longest);
  case OracleOperation::Multiply:
    return term(value, std::fabs(a) * ofB + std::fabs(b) * ofA + ofA * ofB, isExact, 1, to,
                longest);
  case OracleOperation::Divide:
  case OracleOperation::Reciprocal:
  case OracleOperation::Sqrt:
    return term(value, moved(operation, value, a, ofA, b, ofB), isExact, 1, to, longest);
  default: {
    // A function of the device library is within two units in the last place.
    constexpr double roundings = 4;
    return term(value, moved(operation, value, a, ofA, b, ofB), isExact, roundings, to, longest);
  }
  }
}

OracleElement elementOf(const OracleSum &sum, FloatFormat format) {
  return {sum.value, errorOf(sum, format) - sum.error, sum.error, sum.longest};
}

} // namespace kbrt::oracle
