//===- FuseNests.h - Two nests as one ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns joining the nests of two launches that follow each other: which points of the one belong to
// which of the other, what a point may keep in a scalar, and why the order of all else does not
// matter.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_FUSENESTS_H
#define KBOPT_LIB_REWRITE_SCHEDULE_FUSENESTS_H

#include "LaunchedNest.h"

namespace kbopt {

/// A nest that computes what \p first and then \p second compute. An error is the reason why there
/// is none.
llvm::Expected<LaunchedNest> fuse(const PassContext &context, const LaunchedNest &first,
                                  const LaunchedNest &second);

/// Removes stores of elements that are stored again at the same point before anything could load
/// them, and those to memory that nothing but the launches of \p fused uses. What the host calls
/// the latter.
std::vector<std::string> dropDeadStores(const PassContext &context, LaunchedNest &fused);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_FUSENESTS_H
