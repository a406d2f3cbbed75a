//===- BatchNest.h - Launches of a loop as one nest -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns making the loops around a launch into dimensions of its nest, and the proof that the
// launches do not depend on each other.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_BATCHNEST_H
#define KBOPT_LIB_REWRITE_SCHEDULE_BATCHNEST_H

#include "LaunchLoop.h"
#include "LaunchedNest.h"

namespace kbopt {

/// What all launches of \p fact in \p loops, outermost first, compute together: \p single with a
/// dimension for each loop. An error is a reason: a launch may need what an earlier one stores,
/// what is passed is not affine in the loops' variables.
llvm::Expected<LaunchedNest> batchNest(const PassContext &context, const LaunchFact &fact,
                                       const LaunchedNest &single,
                                       llvm::ArrayRef<LaunchLoop> loops);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_BATCHNEST_H
