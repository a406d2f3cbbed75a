//===- Fusion.h - Launches that become one ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the edits that put one kernel in place of several launches that follow each other.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_SCHEDULE_FUSION_H
#define KBOPT_REWRITE_SCHEDULE_FUSION_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// Joins the launch \p fact of \p kernel with as many of those that follow it as can be joined:
///
///     if (rows * columns == n)
///       product_bias<<<…>>>(…);
///     else {
///       product<<<…>>>(…);
///       bias<<<…>>>(…);
///     }
///
/// Conditions that are proven are left out. The new kernel stands after the last of the joined
/// ones, without a schedule. An error is the reason why the launch cannot be joined with the next
/// one.
llvm::Expected<Rewrite> fuseLaunches(const PassContext &context, const KernelView &kernel,
                                     const LaunchFact &fact);

} // namespace kbopt

#endif // KBOPT_REWRITE_SCHEDULE_FUSION_H
