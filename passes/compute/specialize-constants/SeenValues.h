//===- SeenValues.h - Which constants reach a launch -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns following an argument through variables and callers to the constants that it may be, and
// what a workload passed for it. These are guesses for a dispatch, never a proof.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_SPECIALIZECONSTANTS_SEENVALUES_H
#define KBOPT_PASSES_SPECIALIZECONSTANTS_SEENVALUES_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// The constants that \p expr in \p host may be, as far as they are in sight: those that
/// initialise a variable, and those that callers of \p host pass. Empty if there are none.
std::set<int64_t> seenValues(const PassContext &context, const clang::Expr *expr,
                             const clang::FunctionDecl *host);

/// The integer that the workload passed for parameter \p index of \p kernel at its largest launch;
/// nothing where nothing was recorded, or where the launch stands in a loop that changes the
/// argument.
std::optional<int64_t> recordedValue(const PassContext &context, const KernelView &kernel,
                                     unsigned index);

} // namespace kbopt

#endif // KBOPT_PASSES_SPECIALIZECONSTANTS_SEENVALUES_H
