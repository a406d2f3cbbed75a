//===- DirectedRounding.h - Device code that rounds another way -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how the original is written again so that its arithmetic rounds in other
// directions: W. Kahan's test, and mixtures of directions (docs/VerificationNumerics.md).
// Nothing here runs anything.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_DIRECTEDROUNDING_H
#define KBOPT_EVAL_DIRECTEDROUNDING_H

#include "kb-opt/Eval/Device.h"

namespace kbopt {

/// Another way to round every operation of float32 and float64 arithmetic.
struct Rerounding {
  /*implicit*/ Rerounding(Rounding direction) : direction(direction) {}
  /// A direction, up or down, for each operation of the code by itself. Patterns are numbered
  /// from 1 and do not depend on each other.
  static Rerounding mixed(unsigned pattern) {
    Rerounding result(Rounding::Up);
    result.pattern = pattern;
    return result;
  }
  /// A direction for each *execution* of an operation, drawn from the bits of its operands
  /// (CESTAC), so that errors of one operation do not add up in one direction, nor cancel
  /// between two sums of the same code. Repeatable: equal operands have equal directions.
  /// Square roots, saturating operations and conversions of integers round up.
  static Rerounding drawn(unsigned pattern) {
    Rerounding result = mixed(pattern);
    result.isDrawn = true;
    return result;
  }
  /// The same, and float64 operations and constants are rounded to float32 as well.
  Rerounding narrowed() const {
    Rerounding result = *this;
    result.narrow = true;
    return result;
  }
  std::string name() const; ///< "up", "mixed-1", "drawn-1", "narrow-up", …
  bool operator<(const Rerounding &other) const { return name() < other.name(); }

  Rounding direction;
  unsigned pattern = 0; ///< 0: all operations alike
  bool isDrawn = false;
  bool narrow = false;
};

/// Whether \p pattern rounds the operation number \p ordinal of the code down.
bool roundsDown(unsigned pattern, uint64_t ordinal);

/// \p ptx with add, sub, mul, fma, div, sqrt and rcp of float32 and float64 rounded as
/// \p rounding says, where they round to nearest, and conversions to them from float64 and
/// integers. Approximate instructions and narrower types stay; so does an instruction that
/// states another rounding.
std::string withRounding(llvm::StringRef ptx, const Rerounding &rounding);

/// Named metadata by which device bitcode asks the builder of CPU images for a mixture of
/// directions, or for narrowing: a node with the pattern, whether to narrow, and whether to draw.
/// Operations that round up then do so by the host's mode.
inline constexpr llvm::StringLiteral reroundingMetadata = "kb.rerounding";

/// Writes the device code at \p bitcodePath to \p outputPath with that request in it.
llvm::Error writeRerounded(llvm::StringRef bitcodePath, const Rerounding &rounding,
                           llvm::StringRef outputPath);

} // namespace kbopt

#endif // KBOPT_EVAL_DIRECTEDROUNDING_H
