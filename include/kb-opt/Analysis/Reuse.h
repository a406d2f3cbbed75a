//===- Reuse.h - Whether elements are touched again -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the estimate of whether an access comes back to what another one has
// touched. Legality.h owns the proofs: an estimate also rests on what the index
// arithmetic assumes without proof.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_REUSE_H
#define KBOPT_ANALYSIS_REUSE_H

#include "kb-opt/Analysis/Answer.h"
#include "kb-opt/IR/Kb.h"

namespace kbopt {

/// Whether any byte that \p first touches in one thread is likely to be touched by
/// \p second in another thread of the launch or, where they are two accesses, in the
/// same thread; or by \p first again in a later iteration of a loop around it. Refuted
/// where the addresses say that it is not. For choices of speed, never for legality.
Answer isTouchedAgain(kb::AccessOp first, kb::AccessOp second);

} // namespace kbopt

#endif // KBOPT_ANALYSIS_REUSE_H
