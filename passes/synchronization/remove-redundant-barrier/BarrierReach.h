//===- BarrierReach.h - What a barrier alone stands between -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the barriers of a kernel's text, and the walk over the kb IR to the
// accesses that run before and after one of them without another in between.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_REMOVE_REDUNDANT_BARRIER_BARRIERREACH_H
#define KBOPT_PASSES_REMOVE_REDUNDANT_BARRIER_BARRIERREACH_H

#include "kb-opt/Rewrite/AstTools.h"

namespace kbopt::barriers {

/// One `__syncthreads()` in the kernel's text.
struct Barrier {
  const clang::CallExpr *call;
  bool isStatement;     ///< a statement of a block `{ … }`
  bool isUnconditional; ///< every run of the loop body or kernel around it passes it
};

/// In source order.
std::vector<Barrier> barriersOf(const KernelView &kernel);

/// The accesses of one kernel that are ordered by a barrier and by no other one.
struct Reach {
  std::vector<kb::AccessOp> before, after;
  std::string obstacle; ///< why they are not known
};

/// What \p barrier alone stands between in \p op, an instance of \p kernel, as if the calls in \p
/// gone were not there. More than there is, never less: only unconditional barriers end a walk.
Reach reachOf(const PassContext &context, const KernelView &kernel, kb::KernelOp op,
              const Barrier &barrier, const std::vector<const clang::CallExpr *> &gone);

} // namespace kbopt::barriers

#endif // KBOPT_PASSES_REMOVE_REDUNDANT_BARRIER_BARRIERREACH_H
