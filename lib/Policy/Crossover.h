//===- Crossover.h - Two winners in one -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the union of two pipelines and its trial. Each step of it is a move like
// any other: applied, judged, recorded.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_CROSSOVER_H
#define KBOPT_LIB_POLICY_CROSSOVER_H

#include "kb-opt/Policy/Choice.h"

namespace kbopt {

/// A correct step that makes the program slower by more is not gone on from.
inline constexpr double slowestFollowed = 1.1;

/// The steps of \p first and those of \p second for whose pass, kernel and site it has
/// none. Where the two touch different kernels one follows the other; else both keep
/// their order, and between two heads the one that is first in \p catalogue goes first.
std::vector<Step> unionOf(llvm::ArrayRef<Step> first, llvm::ArrayRef<Step> second,
                          const Catalogue &catalogue);

/// Tries the unions of \p pairs pairs of leaders that are new, fastest pairs first,
/// all at once, step by step; a step that fails is left out. Attempts have the numbers
/// from \p trajectory on. False where no union is new.
llvm::Expected<bool> crossWinners(Explorer &explorer, unsigned pairs, unsigned trajectory);

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_CROSSOVER_H
