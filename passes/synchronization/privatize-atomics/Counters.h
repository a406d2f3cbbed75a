//===- Counters.h - Global counters that a block can keep itself -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding the array that a kernel only adds to, and the proof that it is not
// seen when the sums arrive.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_PRIVATIZE_ATOMICS_COUNTERS_H
#define KBOPT_PASSES_PRIVATIZE_ATOMICS_COUNTERS_H

#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt::privatize {

/// `atomicAdd(&p[index], value);`
struct Update {
  const clang::CallExpr *call;
  const clang::Expr *index; ///< null for `atomicAdd(p, value)`
};

struct Counters {
  const clang::ParmVarDecl *array = nullptr;
  std::string type; ///< of an element: "int", "unsigned", "unsigned long long", "float", "double"
  std::vector<Update> updates;
  /// The counters that the copy has, and whether no index can lie outside.
  int64_t bins = 0;
  bool isProven = false;
  /// `if (…) return;` of the kernel's body, in source order.
  std::vector<const clang::IfStmt *> exits;
  /// Other pointers of the kernel that may point at the counters. Where they do not, it is not seen
  /// when the sums arrive.
  std::vector<const clang::ParmVarDecl *> apart;
  std::string obstacle; ///< why there can be no copy
};

/// The launches of \p kernel that can test whether the pointers of \p counters lie apart, and take
/// another kernel then. If there are none, \p why becomes the reason.
std::vector<const LaunchFact *> choosingLaunches(const PassContext &context,
                                                 const KernelView &kernel, const Counters &counters,
                                                 std::string &why);

/// The first array of \p kernel that can have a copy, of \p bins counters where the range is not
/// known; else the reason.
Counters countersOf(const PassContext &context, const KernelView &kernel, int64_t bins);

} // namespace kbopt::privatize

#endif // KBOPT_PASSES_PRIVATIZE_ATOMICS_COUNTERS_H
