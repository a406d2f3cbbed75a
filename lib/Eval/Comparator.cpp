//===- Comparator.cpp - Gate G6's rule -------------------------------------===//
#include "kb-opt/Eval/Comparator.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace llvm;
using kbrt::ElementType;

namespace kbopt {

double unitRoundoff(Precision precision) {
  switch (precision) {
  case Precision::Float64: return 1.1e-16;
  case Precision::Float32: return 6e-8;
  case Precision::TF32: return 4.9e-4;
  case Precision::Half: return 4.9e-4;
  case Precision::BFloat16: return 3.9e-3;
  }
  return 0;
}

double unitRoundoff(ElementType type) {
  switch (type) {
  case ElementType::F64: return unitRoundoff(Precision::Float64);
  case ElementType::F32: return unitRoundoff(Precision::Float32);
  case ElementType::F16: return unitRoundoff(Precision::Half);
  case ElementType::BF16: return unitRoundoff(Precision::BFloat16);
  default: return 0;
  }
}

template <typename T> static T loadElement(ArrayRef<uint8_t> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

static double halfToDouble(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double value;
  if (exponent == 31)
    value = mantissa ? std::nan("") : HUGE_VAL;
  else if (exponent == 0)
    value = std::ldexp(mantissa, -24);
  else
    value = std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double elementAsDouble(ElementType type, ArrayRef<uint8_t> bytes, size_t index) {
  switch (type) {
  case ElementType::F64: return loadElement<double>(bytes, index);
  case ElementType::F32: return loadElement<float>(bytes, index);
  case ElementType::F16: return halfToDouble(loadElement<uint16_t>(bytes, index));
  case ElementType::BF16: {
    uint32_t wide = static_cast<uint32_t>(loadElement<uint16_t>(bytes, index)) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  case ElementType::I8: return loadElement<int8_t>(bytes, index);
  case ElementType::I16: return loadElement<int16_t>(bytes, index);
  case ElementType::I32: return loadElement<int32_t>(bytes, index);
  case ElementType::I64: return static_cast<double>(loadElement<int64_t>(bytes, index));
  case ElementType::U16: return loadElement<uint16_t>(bytes, index);
  case ElementType::U32: return loadElement<uint32_t>(bytes, index);
  case ElementType::U64: return static_cast<double>(loadElement<uint64_t>(bytes, index));
  case ElementType::Bool:
  case ElementType::U8:
  case ElementType::Unknown: return bytes[index];
  }
  return 0;
}

void storeElement(ElementType type, MutableArrayRef<uint8_t> bytes, size_t index, double value) {
  auto put = [&](auto typed) {
    std::memcpy(bytes.data() + index * sizeof typed, &typed, sizeof typed);
  };
  auto putFloat = [&](const fltSemantics &semantics) {
    APFloat rounded(value);
    bool losesInfo;
    rounded.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    put(static_cast<uint16_t>(rounded.bitcastToAPInt().getZExtValue()));
  };
  auto putInteger = [&](auto typed) {
    using T = decltype(typed);
    double low = static_cast<double>(std::numeric_limits<T>::min());
    double high = static_cast<double>(std::numeric_limits<T>::max());
    double whole = std::nearbyint(value);
    put(!(whole > low) ? std::numeric_limits<T>::min()
        : whole >= high ? std::numeric_limits<T>::max()
                        : static_cast<T>(whole));
  };
  switch (type) {
  case ElementType::F64: return put(value);
  case ElementType::F32: return put(static_cast<float>(value));
  case ElementType::F16: return putFloat(APFloat::IEEEhalf());
  case ElementType::BF16: return putFloat(APFloat::BFloat());
  case ElementType::I8: return putInteger(int8_t());
  case ElementType::I16: return putInteger(int16_t());
  case ElementType::I32: return putInteger(int32_t());
  case ElementType::I64: return putInteger(int64_t());
  case ElementType::U16: return putInteger(uint16_t());
  case ElementType::U32: return putInteger(uint32_t());
  case ElementType::U64: return putInteger(uint64_t());
  case ElementType::Bool: return put(static_cast<uint8_t>(value != 0));
  case ElementType::U8:
  case ElementType::Unknown: return putInteger(uint8_t());
  }
}

StringRef toString(ResultPromise promise) {
  switch (promise) {
  case ResultPromise::Bitwise: return "bitwise";
  case ResultPromise::Reassociates: return "reassociates";
  case ResultPromise::LowerPrecision: return "lower-precision";
  }
  return "";
}

std::optional<ResultPromise> parseResultPromise(StringRef text) {
  for (ResultPromise promise : {ResultPromise::Bitwise, ResultPromise::Reassociates,
                                ResultPromise::LowerPrecision})
    if (text == toString(promise))
      return promise;
  return std::nullopt;
}

namespace {

/// NaN, +Inf, -Inf, finite.
int finiteClass(double value) {
  if (std::isnan(value))
    return 1;
  if (std::isinf(value))
    return value > 0 ? 2 : 3;
  return 0;
}

std::string shown(ElementType type, double value, ArrayRef<uint8_t> bytes, size_t index) {
  if (type == ElementType::I64)
    return std::to_string(loadElement<int64_t>(bytes, index));
  if (type == ElementType::U64)
    return std::to_string(loadElement<uint64_t>(bytes, index));
  if (type == ElementType::Unknown)
    return formatv("{0:x-2}", bytes[index]).str();
  char text[40];
  std::snprintf(text, sizeof text, type == ElementType::F64 ? "%.17g" : "%.9g", value);
  return text;
}

double smallestNormal(ElementType type) {
  switch (type) {
  case ElementType::F64: return 0x1p-1022;
  case ElementType::F16: return 0x1p-14;
  default: return 0x1p-126; // float32, and bf16 with the same exponents
  }
}

double largestFinite(ElementType type) {
  switch (type) {
  case ElementType::F64: return std::numeric_limits<double>::max();
  case ElementType::F16: return 65504;
  case ElementType::F32: return std::numeric_limits<float>::max();
  default: return 0x1.fep127; // bf16
  }
}

/// Everything about one comparison that does not change from element to element.
struct Rule {
  const OutputView &output;
  const Tolerance &tolerance;
  double typical = 0; ///< median of |r|
  double u = 0, scale = 1;

  Rule(const OutputView &output, const Tolerance &tolerance)
      : output(output), tolerance(tolerance), u(unitRoundoff(output.type)) {
    if (tolerance.promise == ResultPromise::LowerPrecision && tolerance.computePrecision && u > 0) {
      double lower = std::max(u, unitRoundoff(*tolerance.computePrecision));
      scale = lower / u;
      u = lower;
    }
  }

  /// How far the original itself is known to be from the truth.
  double originalError(size_t index) const {
    double r = elementAsDouble(output.type, output.oracle, index);
    double error = output.moved.empty() ? 0 : elementAsDouble(output.type, output.moved, index);
    double difference = std::fabs(elementAsDouble(output.type, output.baseline, index) - r);
    if (std::isfinite(difference))
      error = std::max(error, difference);
    return error * scale;
  }

  /// n·u·Σ|terms|: with n known, Σ|terms| is at least |r| and, as a result that
  /// cancelled says little about its terms, taken as the usual magnitude of the
  /// output. With n unknown, four roundings of the result are allowed for. Sums of
  /// subnormal numbers are exact until a partial sum leaves their range, so that
  /// the original may round nowhere and another order does.
  double terms(size_t index) const {
    double magnitude = std::max(std::fabs(elementAsDouble(output.type, output.oracle, index)),
                                2 * smallestNormal(output.type));
    if (tolerance.reductionLength == 0)
      return Tolerance::leastRoundings * u * magnitude;
    return static_cast<double>(tolerance.reductionLength) * u * std::max(magnitude, typical);
  }

  /// Whether partial sums of the usual magnitude reach infinity: then one order of
  /// the terms may overflow, to either side or both, where another does not.
  bool sumsMayOverflow() const {
    return static_cast<double>(tolerance.reductionLength) * typical >= largestFinite(output.type);
  }

  double bound(size_t index) const {
    double r = std::fabs(elementAsDouble(output.type, output.oracle, index));
    double declared = tolerance.absolute + tolerance.relative * r;
    if (tolerance.promise == ResultPromise::Bitwise)
      return 0;
    return std::max({tolerance.kappa() * originalError(index), terms(index), declared});
  }
};

double medianMagnitude(const OutputView &output, size_t count) {
  std::vector<double> magnitudes;
  size_t stride = std::max<size_t>(1, count / 4096);
  for (size_t i = 0; i < count; i += stride) {
    double value = std::fabs(elementAsDouble(output.type, output.oracle, i));
    if (std::isfinite(value))
      magnitudes.push_back(value);
  }
  if (magnitudes.empty())
    return 0;
  auto middle = magnitudes.begin() + magnitudes.size() / 2;
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  return *middle;
}

Comparison compare(const OutputView &output, ArrayRef<uint8_t> candidate,
                   const Tolerance &tolerance, bool stopAtFirst) {
  Comparison result;
  const std::string name = output.name.empty() ? "output" : output.name;
  auto reject = [&](std::string reason) {
    result.accepted = false;
    result.reason = std::move(reason);
    return result;
  };
  if (candidate.size() != output.oracle.size())
    return reject(formatv("{0} has {1} bytes, expected {2}", name, candidate.size(),
                          output.oracle.size()));
  unsigned width = std::max(1u, kbrt::elementBytes(output.type));
  ElementType type = output.type;
  if (candidate.size() % width != 0) {
    type = ElementType::Unknown;
    width = 1;
  }
  size_t count = candidate.size() / width;
  result.elements = count;
  const bool exact = unitRoundoff(type) == 0 || tolerance.promise == ResultPromise::Bitwise;
  // A declared tolerance of a workload speaks of its own floating outputs.
  OutputView view = output;
  view.type = type;
  Rule rule(view, tolerance);
  if (!exact && tolerance.reductionLength)
    rule.typical = medianMagnitude(view, count);

  auto note = [&](size_t index, double c, double r, StringRef why) {
    ++result.differing;
    if (result.firstIndex)
      return;
    result.firstIndex = index;
    result.accepted = false;
    result.reason = formatv("{0}[{1}] is {2}, expected {3}{4}", name, index,
                            shown(type, c, candidate, index), shown(type, r, output.oracle, index),
                            why);
  };
  double squaredError = 0, squaredReference = 0, squaredBaseline = 0;
  for (size_t i = 0; i < count && !(stopAtFirst && !result.accepted); ++i) {
    const bool sameBits =
        std::memcmp(candidate.data() + i * width, output.oracle.data() + i * width, width) == 0;
    if (exact && sameBits)
      continue;
    double c = elementAsDouble(type, candidate, i), r = elementAsDouble(type, output.oracle, i);
    if (exact) {
      if (!(std::isnan(c) && std::isnan(r)))
        note(i, c, r, c == r ? " with other bits" : "");
      continue;
    }
    if (finiteClass(c) != finiteClass(r)) {
      if (!rule.sumsMayOverflow())
        note(i, c, r, "");
      continue;
    }
    if (finiteClass(r) != 0)
      continue;
    double difference = std::fabs(c - r), known = std::max(rule.originalError(i), rule.terms(i));
    squaredError += difference * difference;
    squaredReference += r * r;
    squaredBaseline += known * known;
    double bound = rule.bound(i);
    if (difference > 0)
      result.worstRatio = std::max(result.worstRatio, bound > 0 ? difference / bound : HUGE_VAL);
    if (difference > bound)
      note(i, c, r, formatv(" (off by {0:e2}, allowed {1:e2})", difference, bound).str());
  }
  if (result.differing > 1)
    result.reason += formatv("; {0} of {1} elements differ", result.differing, count);
  if (exact || squaredReference == 0)
    return result;
  result.relativeL2 = std::sqrt(squaredError / squaredReference);
  result.baselineRelativeL2 = std::sqrt(squaredBaseline / squaredReference);
  double limit = std::max({2 * result.baselineRelativeL2, rule.u, tolerance.relative});
  if (tolerance.absolute > 0)
    limit = std::max(limit, tolerance.absolute * std::sqrt(count / squaredReference));
  if (result.accepted && result.relativeL2 > limit)
    return reject(formatv("{0} has a relative L2 error of {1:e2}, allowed {2:e2}", name,
                          result.relativeL2, limit));
  return result;
}

} // namespace

void widenMoves(ElementType type, ArrayRef<uint8_t> origin, ArrayRef<uint8_t> other,
                std::vector<uint8_t> &moved) {
  const unsigned width = kbrt::elementBytes(type);
  if (unitRoundoff(type) == 0 || other.size() != origin.size() || origin.size() % width != 0)
    return;
  moved.resize(origin.size());
  const double largest = largestFinite(type);
  for (size_t i = 0; i < origin.size() / width; ++i) {
    if (std::memcmp(origin.data() + i * width, other.data() + i * width, width) == 0)
      continue;
    double difference = std::fabs(elementAsDouble(type, other, i) - elementAsDouble(type, origin, i));
    if (std::isfinite(difference) && difference > elementAsDouble(type, moved, i))
      storeElement(type, moved, i, std::min(difference, largest));
  }
}

Comparison compareOutput(const OutputView &output, ArrayRef<uint8_t> candidate,
                         const Tolerance &tolerance) {
  return compare(output, candidate, tolerance, /*stopAtFirst=*/false);
}

bool acceptsOutput(const OutputView &output, ArrayRef<uint8_t> candidate,
                   const Tolerance &tolerance) {
  return compare(output, candidate, tolerance, /*stopAtFirst=*/true).accepted;
}

double elementBound(const OutputView &output, size_t index, double typicalMagnitude,
                    const Tolerance &tolerance) {
  Rule rule(output, tolerance);
  rule.typical = typicalMagnitude;
  return unitRoundoff(output.type) == 0 ? 0 : rule.bound(index);
}

} // namespace kbopt
