//===- Comparator.cpp - Gate G6's rule -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/Comparator.h"
#include "kb-opt/Support/Parallel.h"
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
  case Precision::Float64:
    return 1.1e-16;
  case Precision::Float32:
    return 6e-8;
  case Precision::TF32:
    return 4.9e-4;
  case Precision::Half:
    return 4.9e-4;
  case Precision::BFloat16:
    return 3.9e-3;
  }
  return 0;
}

double unitRoundoff(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return unitRoundoff(Precision::Float64);
  case ElementType::F32:
    return unitRoundoff(Precision::Float32);
  case ElementType::F16:
    return unitRoundoff(Precision::Half);
  case ElementType::BF16:
    return unitRoundoff(Precision::BFloat16);
  default:
    return 0;
  }
}

template <typename T> static T loadElement(ArrayRef<uint8_t> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
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
  char text[40];
  std::snprintf(text, sizeof text, type == ElementType::F64 ? "%.17g" : "%.9g", value);
  return text;
}

double smallestNormal(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 0x1p-1022;
  case ElementType::F16:
    return 0x1p-14;
  default:
    return 0x1p-126; // float32, and bf16 with the same exponents
  }
}

double largestFinite(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return std::numeric_limits<double>::max();
  case ElementType::F16:
    return 65504;
  case ElementType::F32:
    return std::numeric_limits<float>::max();
  default:
    return 0x1.fep127; // bf16
  }
}

/// elementAsDouble for the two types that nearly all outputs have: outputs may have a hundred
/// million elements.
inline double value(ElementType type, ArrayRef<uint8_t> bytes, size_t index) {
  if (type == ElementType::F32)
    return loadElement<float>(bytes, index);
  if (type == ElementType::F64)
    return loadElement<double>(bytes, index);
  return elementAsDouble(type, bytes, index);
}

/// Everything about one comparison that does not change from element to element.
struct Rule {
  const OutputView &output;
  const Tolerance &tolerance;
  double typical = 0; ///< median of |r|
  double u = 0, scale = 1;

  Rule(const OutputView &output, const Tolerance &tolerance)
      : output(output), tolerance(tolerance), u(unitRoundoff(output.type)) {
    if (tolerance.promise == Promise::LowerPrecision && tolerance.computePrecision && u > 0) {
      double lower = std::max(u, unitRoundoff(*tolerance.computePrecision));
      scale = lower / u;
      u = lower;
    }
  }

  /// How far the original itself is known to be from the truth.
  double originalError(size_t index) const {
    double error = output.moved.empty() ? 0 : value(output.type, output.moved, index);
    if (output.baseline.data() == output.oracle.data())
      return error * scale;
    double difference = std::fabs(value(output.type, output.baseline, index) -
                                  value(output.type, output.oracle, index));
    if (std::isfinite(difference))
      error = std::max(error, difference);
    return error * scale;
  }

  /// n·u·Σ|terms|: with n known, Σ|terms| is at least |r| and, as a result that
  /// cancelled says little about its terms, taken as the usual magnitude of the
  /// output. Where sums are made in a finer type than the output's, n roundings are
  /// that type's, and four are the output's: of the result, and of values on the
  /// way to it. With n unknown, four roundings of the result are allowed for. Sums of
  /// subnormal numbers are exact until a partial sum leaves their range, so that
  /// the original may round nowhere and another order does; a factor of the sum
  /// enlarges that.
  double terms(double r) const {
    double magnitude = std::max(std::fabs(r), 8 * smallestNormal(output.type));
    if (tolerance.reductionLength == 0)
      return Tolerance::leastRoundings * u * magnitude;
    const double n = static_cast<double>(tolerance.reductionLength),
                 terms = std::max(magnitude, typical);
    const bool isFiner = tolerance.sumRoundoff > 0 && tolerance.sumRoundoff < u;
    return (isFiner ? Tolerance::leastRoundings * u + n * tolerance.sumRoundoff : n * u) * terms;
  }

  /// Of an element that is \p r, with these two.
  double bound(double r, double originalError, double terms) const {
    if (tolerance.promise == Promise::Bitwise)
      return 0;
    return std::max({tolerance.kappa() * originalError, terms,
                     tolerance.absolute + tolerance.relative * std::fabs(r)});
  }
  /// How far element \p index, which the original makes \p r and whose error is known to be \p
  /// originalError, may be from its reference in float64: by the error bound of its sum in any
  /// order and some roundings, as everywhere, or by twice the original's own distance. What errors
  /// of terms add up to, at the worst, grows without measure in long computations, so that it
  /// counts up to a multiple of what is known of the original. Nothing if there is no finite
  /// reference.
  std::optional<double> forwardBound(size_t index, double r, double originalError) const {
    if (output.float64.empty() || tolerance.promise == Promise::Bitwise)
      return std::nullopt;
    const kbrt::OracleElement &exact = output.float64[index];
    const double magnitude = std::max(std::fabs(exact.value), 8 * smallestNormal(output.type)),
                 roundings = Tolerance::leastRoundings * u * magnitude,
                 distance = std::fabs(r - exact.value);
    constexpr double mostInherited = 64;
    const double inherited = std::min(
        exact.inherited * scale, mostInherited * std::max({originalError, distance, roundings}));
    double bound = std::max(exact.error * scale + inherited + roundings, 2 * distance);
    if (tolerance.isHeldToFloat64)
      bound = std::max(bound, tolerance.absolute + tolerance.relative * magnitude);
    if (!std::isfinite(exact.value) || !std::isfinite(bound))
      return std::nullopt;
    return bound;
  }

  double bound(size_t index) const {
    const double r = value(output.type, output.oracle, index);
    return bound(r, originalError(index), terms(r));
  }
};

/// Of \p samples elements, those that are neither zero nor infinite nor NaN.
std::vector<double> magnitudesAt(const OutputView &output, size_t count, size_t samples) {
  std::vector<double> magnitudes;
  for (size_t i = 0; i < samples; ++i) {
    const double turns = static_cast<double>(i) * 0.6180339887498949;
    const size_t at = samples == count
                          ? i
                          : std::min(count - 1, static_cast<size_t>((turns - std::floor(turns)) *
                                                                    static_cast<double>(count)));
    double value = std::fabs(elementAsDouble(output.type, output.oracle, at));
    if (std::isfinite(value) && value > 0)
      magnitudes.push_back(value);
  }
  return magnitudes;
}

/// Of the elements that are not zero: a program may read back far more than it computes, and a zero
/// says nothing of terms.
double medianMagnitude(const OutputView &output, size_t count) {
  std::vector<double> magnitudes;
  // Places of a golden-ratio sequence: equal steps would meet one column of a matrix only. Many
  // more where most are zero.
  constexpr size_t enough = 4096, most = 16 * enough;
  for (size_t samples : {std::min(count, enough), std::min(count, most)}) {
    magnitudes = magnitudesAt(output, count, samples);
    if (2 * magnitudes.size() >= samples)
      break;
  }
  if (magnitudes.empty())
    return 0;
  auto middle = magnitudes.begin() + magnitudes.size() / 2;
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  return *middle;
}

/// Elements that one thread looks at without asking for more. Sums are made piece by piece and
/// added in order, so that no number of threads changes a result.
constexpr size_t pieceElements = size_t(1) << 18;

unsigned threadsFor(size_t elements) {
  return elements < 4 * pieceElements ? 1 : std::max(1u, std::thread::hardware_concurrency());
}

/// What one piece of an output adds to its comparison.
struct Piece {
  uint64_t differing = 0;
  std::optional<size_t> first; ///< the first element out of bounds
  double worstRatio = 0;
  double squaredError = 0, squaredReference = 0, squaredBaseline = 0;
  uint64_t byForwardBound = 0;
  double worstOfForwardBound = 0, longestSum = 0;
  uint64_t spared = 0;
};

/// Elements that must be the same bits, NaNs apart; \p candidate has those from \p begin on.
void compareBits(const OutputView &output, const Tolerance &tolerance, ArrayRef<uint8_t> candidate,
                 unsigned width, size_t begin, size_t end, bool stopAtFirst, Piece &piece) {
  if (std::memcmp(candidate.data(), output.oracle.data() + begin * width, (end - begin) * width) ==
      0)
    return;
  const bool spares =
      tolerance.sparesMovedIntegers && unitRoundoff(output.type) == 0 && !output.moved.empty();
  for (size_t i = begin; i < end; ++i) {
    if (std::memcmp(candidate.data() + (i - begin) * width, output.oracle.data() + i * width,
                    width) == 0 ||
        (std::isnan(elementAsDouble(output.type, candidate, i - begin)) &&
         std::isnan(elementAsDouble(output.type, output.oracle, i))))
      continue;
    if (spares && output.moved[i * width]) {
      ++piece.spared;
      continue;
    }
    ++piece.differing;
    if (!piece.first)
      piece.first = i;
    if (stopAtFirst)
      return;
  }
}

/// Elements that may be off by the rule's bound; \p candidate has those from \p begin on.
void compareValues(const Rule &rule, ArrayRef<uint8_t> candidate, size_t begin, size_t end,
                   bool stopAtFirst, Piece &piece) {
  const OutputView &output = rule.output;
  auto note = [&](size_t index) {
    ++piece.differing;
    if (!piece.first)
      piece.first = index;
  };
  for (size_t i = begin; i < end && !(stopAtFirst && piece.first); ++i) {
    const double c = value(output.type, candidate, i - begin),
                 r = value(output.type, output.oracle, i);
    const double originalError = rule.originalError(i);
    // Where another rounding makes the original NaN or infinite, or no more so, nothing is known of
    // the element.
    if (std::isinf(originalError))
      continue;
    if (finiteClass(c) != finiteClass(r)) {
      note(i);
      continue;
    }
    if (finiteClass(r) != 0)
      continue;
    const std::optional<double> forward = rule.forwardBound(i, r, originalError);
    const double terms = rule.terms(r), difference = std::fabs(c - r),
                 known = std::max({originalError, terms, forward.value_or(0)});
    piece.squaredError += difference * difference;
    piece.squaredReference += r * r;
    piece.squaredBaseline += known * known;
    const double bound = rule.bound(r, originalError, terms);
    const double distance = forward ? std::fabs(c - output.float64[i].value) : HUGE_VAL;
    if (forward && rule.tolerance.isHeldToFloat64) {
      if (distance > *forward)
        note(i);
      continue;
    }
    if (forward && difference > bound && distance <= *forward) {
      ++piece.byForwardBound;
      piece.worstOfForwardBound = std::max(piece.worstOfForwardBound, distance / *forward);
      piece.longestSum = std::max(piece.longestSum, output.float64[i].terms);
      continue;
    }
    if (difference > 0)
      piece.worstRatio = std::max(piece.worstRatio, bound > 0 ? difference / bound : HUGE_VAL);
    if (difference > bound)
      note(i);
  }
}

std::string describeMiss(const Rule &rule, size_t index, double c, double r) {
  const std::optional<double> forward = rule.forwardBound(index, r, rule.originalError(index));
  std::string ofOracle;
  if (forward) {
    const kbrt::OracleElement &exact = rule.output.float64[index];
    ofOracle =
        formatv("off by {0:e2} from the float64 oracle {1:e8}, allowed {2:e2} for sums of up "
                "to {3:f0} terms",
                std::fabs(c - exact.value), exact.value, *forward, exact.terms);
    if (rule.tolerance.isHeldToFloat64)
      return " (" + ofOracle + ")";
    ofOracle = "; " + ofOracle;
  }
  return formatv(" (off by {0:e2}, allowed {1:e2}{2})", std::fabs(c - r), rule.bound(index),
                 ofOracle);
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
    return reject(
        formatv("{0} has {1} bytes, expected {2}", name, candidate.size(), output.oracle.size()));
  unsigned width = std::max(1u, kbrt::elementBytes(output.type));
  ElementType type = output.type;
  if (candidate.size() % width != 0) {
    type = ElementType::Unknown;
    width = 1;
  }
  size_t count = candidate.size() / width;
  result.elements = count;
  const bool exact = unitRoundoff(type) == 0 || tolerance.promise == Promise::Bitwise;
  // A declared tolerance of a workload speaks of its own floating outputs.
  OutputView view = output;
  view.type = type;
  if (view.float64.size() != count)
    view.float64 = {};
  Rule rule(view, tolerance);
  if (!exact && tolerance.reductionLength)
    rule.typical = medianMagnitude(view, count);

  std::vector<Piece> pieces((count + pieceElements - 1) / pieceElements);
  std::atomic<bool> isOver = false;
  parallelFor(threadsFor(count), pieces.size(), [&](size_t which) {
    if (isOver)
      return;
    size_t begin = which * pieceElements, end = std::min(count, begin + pieceElements);
    const ArrayRef<uint8_t> its = candidate.slice(begin * width, (end - begin) * width);
    if (exact)
      compareBits(view, tolerance, its, width, begin, end, stopAtFirst, pieces[which]);
    else
      compareValues(rule, its, begin, end, stopAtFirst, pieces[which]);
    if (stopAtFirst && pieces[which].first)
      isOver = true;
  });
  double squaredError = 0, squaredReference = 0, squaredBaseline = 0;
  for (const Piece &piece : pieces) {
    result.differing += piece.differing;
    result.worstRatio = std::max(result.worstRatio, piece.worstRatio);
    squaredError += piece.squaredError;
    squaredReference += piece.squaredReference;
    squaredBaseline += piece.squaredBaseline;
    result.byForwardBound += piece.byForwardBound;
    result.spared += piece.spared;
    result.worstOfForwardBound = std::max(result.worstOfForwardBound, piece.worstOfForwardBound);
    result.longestSum = std::max(result.longestSum, piece.longestSum);
    if (!piece.first || result.firstIndex)
      continue;
    const size_t i = *piece.first;
    double c = elementAsDouble(type, candidate, i), r = elementAsDouble(type, output.oracle, i);
    std::string why;
    if (exact)
      why = c == r ? " with other bits" : "";
    else if (finiteClass(c) == finiteClass(r))
      why = describeMiss(rule, i, c, r);
    result.firstIndex = i;
    result.accepted = false;
    // Bytes of numbers say nothing to a reader.
    result.reason =
        type == ElementType::Unknown
            ? formatv("{0} differs at byte {1}; the type of its elements is not known, so that "
                      "their bytes must be the same",
                      name, i)
                  .str()
            : formatv("{0}[{1}] is {2}, expected {3}{4}", name, i, shown(type, c, candidate, i),
                      shown(type, r, output.oracle, i), why)
                  .str();
  }
  if (result.differing > 1)
    result.reason += formatv("; {0} of {1} {2} differ", result.differing, count,
                             type == ElementType::Unknown ? "bytes" : "elements");
  constexpr uint64_t leastCompared = 4; // of so many elements all but one
  if (leastCompared * result.spared > count) {
    Tolerance strict = tolerance;
    strict.sparesMovedIntegers = false;
    return compare(output, candidate, strict, stopAtFirst);
  }
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
  const unsigned width = std::max(1u, kbrt::elementBytes(type));
  if (other.size() != origin.size() || origin.size() % width != 0)
    return;
  moved.resize(origin.size());
  const bool isExact = unitRoundoff(type) == 0;
  const double largest = largestFinite(type);
  const size_t count = origin.size() / width;
  parallelFor(threadsFor(count), (count + pieceElements - 1) / pieceElements, [&](size_t which) {
    const size_t begin = which * pieceElements, end = std::min(count, begin + pieceElements);
    if (std::memcmp(origin.data() + begin * width, other.data() + begin * width,
                    (end - begin) * width) == 0)
      return;
    for (size_t i = begin; i < end; ++i) {
      if (std::memcmp(origin.data() + i * width, other.data() + i * width, width) == 0)
        continue;
      if (isExact) {
        std::memset(moved.data() + i * width, 0xff, width);
        continue;
      }
      const double there = value(type, other, i), here = value(type, origin, i);
      if (finiteClass(there) != finiteClass(here)) {
        storeElement(type, moved, i, HUGE_VAL);
        continue;
      }
      double difference = std::fabs(there - here);
      if (std::isfinite(difference) && difference > value(type, moved, i))
        storeElement(type, moved, i, std::min(difference, largest));
    }
  });
}

uint64_t largeElements(ElementType type, ArrayRef<uint8_t> bytes) {
  if (unitRoundoff(type) == 0)
    return 0;
  const double large = std::pow(largestFinite(type), 0.75);
  const size_t count = bytes.size() / kbrt::elementBytes(type);
  std::atomic<uint64_t> found = 0;
  parallelFor(threadsFor(count), (count + pieceElements - 1) / pieceElements, [&](size_t which) {
    uint64_t here = 0;
    for (size_t i = which * pieceElements; i < std::min(count, (which + 1) * pieceElements); ++i)
      here += !(std::fabs(value(type, bytes, i)) <= large);
    found += here;
  });
  return found;
}

Comparison compareOutput(const OutputView &output, ArrayRef<uint8_t> candidate,
                         const Tolerance &tolerance) {
  return compare(output, candidate, tolerance, /*stopAtFirst=*/false);
}

bool acceptsOutput(const OutputView &output, ArrayRef<uint8_t> candidate,
                   const Tolerance &tolerance) {
  return compare(output, candidate, tolerance, /*stopAtFirst=*/true).accepted;
}

bool acceptsElements(const OutputView &output, size_t begin, ArrayRef<uint8_t> some,
                     const Tolerance &tolerance) {
  const unsigned width = std::max(1u, kbrt::elementBytes(output.type));
  const size_t count = output.oracle.size() / width;
  const bool exact = unitRoundoff(output.type) == 0 || tolerance.promise == Promise::Bitwise;
  Rule rule(output, tolerance);
  if (!exact && tolerance.reductionLength)
    rule.typical = medianMagnitude(output, count);
  Piece piece;
  if (exact)
    compareBits(output, tolerance, some, width, begin, begin + some.size() / width, true, piece);
  else
    compareValues(rule, some, begin, begin + some.size() / width, true, piece);
  return !piece.first;
}

double elementBound(const OutputView &output, size_t index, double typicalMagnitude,
                    const Tolerance &tolerance) {
  Rule rule(output, tolerance);
  rule.typical = typicalMagnitude;
  return unitRoundoff(output.type) == 0 ? 0 : rule.bound(index);
}

} // namespace kbopt
