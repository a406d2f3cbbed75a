//===- Match.cpp - Two results of one read, as figures ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the figures of OutputMatch as the host computes them; a device's are the same.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/Comparator.h"
#include "kb-opt/Screen/Screen.h"
#include <cmath>
#include <cstring>

using namespace kbopt;

namespace {

/// NaN, either infinity, or finite.
int classOf(double value) {
  return std::isnan(value) ? 1 : std::isinf(value) ? (value > 0 ? 2 : 3) : 0;
}

/// Root mean square of the finite elements.
double magnitudeOf(kbrt::ElementType type, llvm::ArrayRef<uint8_t> bytes, size_t elements) {
  double squares = 0;
  uint64_t finite = 0;
  for (size_t i = 0; i != elements; ++i)
    if (double value = elementAsDouble(type, bytes, i); std::isfinite(value)) {
      squares += value * value;
      ++finite;
    }
  return finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
}

} // namespace

OutputMatch kbopt::matchOutput(llvm::StringRef name, kbrt::ElementType type,
                               llvm::ArrayRef<uint8_t> reference,
                               llvm::ArrayRef<uint8_t> candidate) {
  OutputMatch match;
  match.name = name.str();
  match.type = type;
  const bool isNumber = kbrt::isFloatingPoint(type);
  const size_t width = std::max<size_t>(1, kbrt::elementBytes(type));
  match.elements = reference.size() / width;
  if (reference.size() != candidate.size()) {
    match.differing = match.otherClass = match.elements;
    return match;
  }
  if (std::memcmp(reference.data(), candidate.data(), reference.size()) == 0)
    return match;
  const double magnitude = isNumber ? magnitudeOf(type, reference, match.elements) : 0;
  double differences = 0, squares = 0;
  for (size_t i = 0; i != match.elements; ++i) {
    const bool isSame =
        std::memcmp(reference.data() + i * width, candidate.data() + i * width, width) == 0;
    if (!isNumber) {
      match.differing += !isSame;
      continue;
    }
    const double r = elementAsDouble(type, reference, i), c = elementAsDouble(type, candidate, i);
    if (classOf(r) || classOf(c)) {
      const bool isOther = classOf(r) != classOf(c);
      match.differing += isOther;
      match.otherClass += isOther;
      continue;
    }
    match.differing += !isSame;
    squares += r * r;
    differences += (c - r) * (c - r);
    if (const double scale = std::max(std::fabs(r), magnitude); c != r)
      match.largestError =
          std::max(match.largestError, scale > 0 ? std::fabs(c - r) / scale : HUGE_VAL);
  }
  match.relativeL2 = squares > 0       ? std::sqrt(differences / squares)
                     : differences > 0 ? HUGE_VAL
                                       : 0;
  return match;
}
