//===- BoundaryInputs.h - Inputs at which programs branch -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the inputs that keep most of what was recorded and put a few values among it at which
// programs take another way: constants of the source, ties, zeros, the ends of types.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_BOUNDARYINPUTS_H
#define KBOPT_PLAN_BOUNDARYINPUTS_H

#include "kb-opt/Plan/PlanTransform.h"
#include <set>

namespace kbopt {

/// Constants that a program compares with or computes indices from: a dictionary, as fuzzers take
/// it from the program that they test (M. Zalewski, *American Fuzzy Lop*, technical details, 8).
struct ProgramConstants {
  std::set<double> numbers;
  std::set<int64_t> integers;

  bool empty() const { return numbers.empty() && integers.empty(); }
  /// Those that \p other lacks, the smallest \p most of either kind.
  ProgramConstants without(const ProgramConstants &other, size_t most) const;
};
/// As "0.5, 1024".
std::string describe(const ProgramConstants &constants);

/// Changes the values that the uploads of \p plan have in \p data in the way of \p distribution,
/// one of `boundaryDistributions`, into \p out, which is as large as \p data and all written:
/// - SprinkledNumbers, SprinkledIntegers: of the upload of number \p only, or of all of that type.
///   Constants come as they are, and next to them on either side.
/// - FewSpecial, NotFinite: of the upload \p only, which is of floating point.
/// - ZeroRuns: of the upload \p only; zeros of floating point have both signs.
/// - EndRuns: of the upload \p only; the ends of floating point are large numbers.
/// Uploads that hold device pointers, or elements of no known type, keep their bytes. Fails if the
/// plan reaches beyond \p data.
llvm::Expected<VariedUploads> varyAtBoundaries(const kbrt::Plan &plan, llvm::StringRef data,
                                               llvm::MutableArrayRef<uint8_t> out, uint64_t seed,
                                               InputDistribution distribution,
                                               std::optional<unsigned> only,
                                               const ProgramConstants &constants);

/// Makes the integers of each upload of \p plan in \p out equal to the first of them, and bytes of
/// all uploads to the first one's: texts match where all of their letters do. Returns how many
/// uploads these are; fails if the plan reaches beyond \p out.
llvm::Expected<unsigned> fillIntegers(const kbrt::Plan &plan, llvm::MutableArrayRef<uint8_t> out);

} // namespace kbopt

#endif // KBOPT_PLAN_BOUNDARYINPUTS_H
