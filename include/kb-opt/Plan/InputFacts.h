//===- InputFacts.h - What stays true of varied inputs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns statements about the values that a program uploads, as that they are sorted: how they are
// found in recorded values, and how other values are made to keep them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_INPUTFACTS_H
#define KBOPT_PLAN_INPUTFACTS_H

#include "kbrt/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace kbopt {

/// What holds of the elements of one upload. Only uploads of integers, float32 and float64 are held
/// to it.
struct InputFacts {
  unsigned upload = 0; ///< its number in the order of the program's uploads, from 0
  bool isSorted = false, isDescending = false, isDistinct = false, isNonzero = false;
  bool isFinite = false; ///< neither NaN nor infinite
  bool isZero = false;   ///< all elements are zero
  /// Offsets of the rows of a compressed format: the first is zero, none is below the one before
  /// it, and the last is what it is in the recorded run.
  bool isOffsets = false;
  std::optional<std::pair<double, double>> range; ///< both ends are values
  /// Rows of `row` elements, filled up with `with`: behind the first of these all are.
  struct Padding {
    uint64_t row = 1;
    double with = 0;
  };
  std::optional<Padding> padding;
  std::string reason; ///< the source: "the workload says so"
  std::string name;   ///< of the parameter that is uploaded, if it has one
  std::string place;  ///< "file:line:column" of the statement in a workload
  double total = 0;   ///< the last of the recorded offsets
};

/// As "upload 2 stays sorted and distinct: the workload says so".
std::string describe(const InputFacts &facts);

/// The uploads of \p plan that lie in order, as their values in \p data tell: they never fall, or
/// never rise, and do not grow by equal steps, as a counted-up range does. Says nothing
/// of why.
std::vector<InputFacts> orderedUploads(const kbrt::Plan &plan, llvm::StringRef data);

/// Whether \p bytes are as \p facts say.
bool fulfils(llvm::ArrayRef<uint8_t> bytes, kbrt::ElementType element, const InputFacts &facts);

/// The last element of \p bytes; 0 if there is none, or it is no number that can be put in order.
double lastValue(llvm::ArrayRef<uint8_t> bytes, kbrt::ElementType element);

/// Changes the elements of \p bytes so that they are as \p facts say. A range with fewer values
/// than there are elements cannot hold distinct ones; it is left then.
void holdTo(llvm::MutableArrayRef<uint8_t> bytes, kbrt::ElementType element,
            const InputFacts &facts);

} // namespace kbopt

#endif // KBOPT_PLAN_INPUTFACTS_H
