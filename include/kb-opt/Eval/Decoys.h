//===- Decoys.h - Does a test case tell right from wrong? -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns gate G5: outputs that are wrong in the ways that fooled published
// harnesses, and the rule that a test case counts only if the comparator
// rejects every one of them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_DECOYS_H
#define KBOPT_EVAL_DECOYS_H

#include "kb-opt/Eval/Comparator.h"
#include <functional>

namespace kbopt {

/// EVALUATION.md's list.
enum class DecoyKind {
  Zeros,
  NaN,
  Untouched,    ///< what lay in the output before the program ran
  ConstantMean, ///< the output's mean everywhere (of a million elements, if it has more)
  InputCopy,    ///< an input of the same size, unless the program is seen to copy just that
  OtherSeed,    ///< the right answer to other inputs
  TailMissing,  ///< the last 1 % (at least one element) of what was computed untouched
  TilePermuted  ///< two tiles of the output exchanged
};
inline constexpr DecoyKind allDecoys[] = {
    DecoyKind::Zeros,     DecoyKind::NaN,       DecoyKind::Untouched,   DecoyKind::ConstantMean,
    DecoyKind::InputCopy, DecoyKind::OtherSeed, DecoyKind::TailMissing, DecoyKind::TilePermuted};
/// "zeros", "NaN", "output untouched", "constant mean", "copy of an input",
/// "another seed's output", "last 1 % missing", "one tile permuted".
llvm::StringRef toString(DecoyKind kind);

/// The bytes of something large from \p begin up to \p end, made when they are asked for.
using PartOfBytes = std::function<std::vector<uint8_t>(size_t begin, size_t end)>;

/// One output of a case with what the decoys are made of.
struct AdmissionOutput {
  OutputView view;
  Tolerance tolerance;
  PartOfBytes before; ///< content before the run, as long as the output; empty: unknown
  std::vector<llvm::ArrayRef<uint8_t>> inputs; ///< before the first computation
  llvm::ArrayRef<uint8_t> otherSeed;           ///< empty: no other seed
  /// All that is uploaded before the output is read, also between computations, and the same of the
  /// other seed, in the same order; empty: not known.
  std::vector<llvm::ArrayRef<uint8_t>> uploads, otherUploads;
};

/// The decoy of \p kind for \p output; nothing if it cannot be made (an integer
/// output has no NaN, no input has the output's size, one tile only).
std::optional<std::vector<uint8_t>> makeDecoy(DecoyKind kind, const AdmissionOutput &output);

struct Admission {
  bool admitted = true;
  std::vector<DecoyKind> accepted; ///< decoys that the case cannot tell from the truth
  unsigned tried = 0;
  /// "zeros and constant mean would pass"; empty if admitted.
  std::string reason;
};

/// Tries each decoy on all \p outputs at once: a candidate that returns zeros
/// does so everywhere. A decoy is rejected if at least one output rejects it. A
/// case without outputs, or on which no decoy can be made, is not admitted.
Admission admitCase(llvm::ArrayRef<AdmissionOutput> outputs);

} // namespace kbopt

#endif // KBOPT_EVAL_DECOYS_H
