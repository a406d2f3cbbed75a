//===- Comparator.h - Are these the same numbers? ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns gate G6: the comparison of every element of an output with the oracle's
// under the promise of the pass, and nothing about where the bytes come from.
// The rule and its fallbacks are explained in docs/VerificationNumerics.md.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_COMPARATOR_H
#define KBOPT_EVAL_COMPARATOR_H

#include "kb-opt/Core/PassInfo.h"
#include "kbrt/Oracle.h"
#include "kbrt/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

// An output's element type is the plan's (kbrt/Plan.h). Unknown stands for data
// of unknown type: compared bit for bit.

/// Precisions with a unit round-off of their own. TF32 exists only inside
/// computations; its results are stored as float32.
enum class Precision { Float64, Float32, TF32, Half, BFloat16 };

/// u of EVALUATION.md: 1.1e-16, 6e-8, 4.9e-4, 4.9e-4, 3.9e-3.
double unitRoundoff(Precision precision);
/// u of a floating element type, 0 for exact types.
double unitRoundoff(kbrt::ElementType type);
/// Element \p index of \p bytes as a double (exact but for large 64-bit integers).
double elementAsDouble(kbrt::ElementType type, llvm::ArrayRef<uint8_t> bytes, size_t index);
/// Rounds \p value to \p type (to nearest even) and stores it as element \p index.
void storeElement(kbrt::ElementType type, llvm::MutableArrayRef<uint8_t> bytes, size_t index,
                  double value);

/// How far an output may be from the oracle's.
struct Tolerance {
  Promise promise = Promise::Bitwise;
  /// n of n·u·Σ|terms|: the longest chain of rounded operations behind one
  /// element (a reduction's length). 0 = unknown: the measured spread stands in.
  uint64_t reductionLength = 0;
  /// u of the type in which these sums are made, where it is finer than the output's: only the
  /// result is rounded to that. 0: they are made in the output's type, or it is unknown.
  double sumRoundoff = 0;
  /// A tolerance that the workload declares; widens the bound to
  /// max(bound, absolute + relative·|r|). Never narrows it.
  double absolute = 0, relative = 0;
  /// Precision in which a pass that declares a lower one computes; u is the
  /// larger of its and the output type's.
  std::optional<Precision> computePrecision;

  /// The workload asks for `oracle: float64`: elements are held to the reference in float64, where
  /// there is one, instead of the original's results.
  bool isHeldToFloat64 = false;
  /// Integers that other roundings of the original change (OutputView::moved) are not compared, up
  /// to a quarter of an output: the inputs are made, and rounding decides which value is meant.
  bool sparesMovedIntegers = false;

  /// κ of EVALUATION.md: 2, and 4 for a declared reassociation.
  double kappa() const { return promise == Promise::Reassociates ? 4 : 2; }
  /// Roundings of a result that are allowed where n is unknown or smaller. Our choice:
  /// an expression of a few operations has as many.
  static constexpr unsigned leastRoundings = 4;
  bool operator==(const Tolerance &) const = default;
};

/// One output on one case. `baseline` may be the oracle's bytes themselves
/// (then |b−r| is 0). `moved` holds for each element how far rounding alone moves it,
/// as a value of the output's type: from further runs of the *original* on the same
/// inputs under other rounding directions. It stands in for |b−r|
/// (docs/VerificationNumerics.md); an element of an exact type that moves has all of its bits set
/// there. All arrays have the same size in bytes; `moved` may be empty.
struct OutputView {
  std::string name;
  kbrt::ElementType type = kbrt::ElementType::Unknown;
  llvm::ArrayRef<uint8_t> oracle, baseline, moved;
  /// The float64 reference of each element with its forward error bound (kbrt/Oracle.h); empty:
  /// it was not asked for, or cannot be had. An element that is out of the other bounds and
  /// within this one is right.
  llvm::ArrayRef<kbrt::OracleElement> float64 = {};
};

/// Takes |other − origin| into \p moved (empty at first) where that is more, of exact types whether
/// they differ. Arrays of another size than \p origin leave it as it is; differences beyond the
/// type become its largest value. An element that is finite in one of them only, or NaN, or another
/// infinity, has moved by infinity: it is compared no more.
void widenMoves(kbrt::ElementType type, llvm::ArrayRef<uint8_t> origin,
                llvm::ArrayRef<uint8_t> other, std::vector<uint8_t> &moved);

/// Elements of a floating type that are NaN, infinite, or beyond the power 3/4 of the type's
/// largest: further terms of their size may overflow. 0 for exact types.
uint64_t largeElements(kbrt::ElementType type, llvm::ArrayRef<uint8_t> bytes);

struct Comparison {
  bool accepted = true;
  std::string reason;                 ///< empty if accepted
  std::optional<uint64_t> firstIndex; ///< first element out of bounds
  uint64_t differing = 0, elements = 0;
  double worstRatio = 0; ///< largest |c−r| / bound
  double relativeL2 = 0, baselineRelativeL2 = 0;
  /// Elements that only the forward bound of the float64 oracle accepts, the largest share of it
  /// that one of them takes, and the terms of the longest sum behind one.
  uint64_t byForwardBound = 0;
  double worstOfForwardBound = 0, longestSum = 0;
  /// Integers that differ and were not compared (Tolerance::sparesMovedIntegers).
  uint64_t spared = 0;
};

/// Compares 100 % of the elements. Size mismatch, a bit pattern that differs
/// (bitwise promise and exact types), a finite class that differs, an error
/// over the bound or a relative L2 error over twice the baseline's reject.
/// Under a bitwise promise all NaNs are one value: a GPU's arithmetic makes one
/// canonical NaN, so payloads say nothing.
Comparison compareOutput(const OutputView &output, llvm::ArrayRef<uint8_t> candidate,
                         const Tolerance &tolerance);

/// The same answer without the statistics; stops at the first rejection.
bool acceptsOutput(const OutputView &output, llvm::ArrayRef<uint8_t> candidate,
                   const Tolerance &tolerance);

/// Whether none of \p some, whole elements of a candidate from element \p begin on, is out of
/// bounds. What is asked of all elements together is not asked here.
bool acceptsElements(const OutputView &output, size_t begin, llvm::ArrayRef<uint8_t> some,
                     const Tolerance &tolerance);

/// The per-element bound that compareOutput applies; for reports and tests.
double elementBound(const OutputView &output, size_t index, double typicalMagnitude,
                    const Tolerance &tolerance);

} // namespace kbopt

#endif // KBOPT_EVAL_COMPARATOR_H
