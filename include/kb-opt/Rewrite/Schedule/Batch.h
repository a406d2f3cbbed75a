//===- Batch.h - A loop of launches that becomes one ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the rewrite of a host loop whose launches do not depend on each other: the kernel that
// computes all of them, and the launch with the loop as the fallback.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_SCHEDULE_BATCH_H
#define KBOPT_REWRITE_SCHEDULE_BATCH_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// Whether \p fact stands directly in a `for` of the host.
bool standsInLoop(const PassContext &context, const LaunchFact &fact);

/// Makes one launch of as many loops around \p fact, a launch of \p kernel, as can be. An error is
/// the reason why it cannot be done.
llvm::Expected<Rewrite> batchLaunches(const PassContext &context, const KernelView &kernel,
                                      const LaunchFact &fact);

} // namespace kbopt

#endif // KBOPT_REWRITE_SCHEDULE_BATCH_H
