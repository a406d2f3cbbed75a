//===- LaunchOrder.h - Launches that follow each other ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question which launch follows another one in a statement list with nothing between them
// that could tell whether the first one ran before it or after it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHORDER_H
#define KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHORDER_H

#include "kb-opt/Rewrite/PassContext.h"

namespace kbopt {

struct FollowingLaunch {
  const KernelView *kernel = nullptr;
  const LaunchFact *fact = nullptr;
  /// Variables that get other values in between: sizes, and pointers that are allocated there.
  std::vector<const clang::VarDecl *> assigned = {};
};

/// The launch after \p fact in its list, on the same stream. Between the two stand only
/// declarations without side effects, checks for errors, and assignments to local variables. An
/// error is the reason why there is none.
llvm::Expected<FollowingLaunch> launchAfter(const PassContext &context, const LaunchFact &fact);

/// Whether \p statement, beside a launch, only declares variables, waits, checks for errors or
/// allocates. Variables that get other values are added to \p assigned.
bool onlyDeclaresOrChecks(const clang::Stmt *statement,
                          std::vector<const clang::VarDecl *> &assigned);

/// The statement that \p fact is in its list; null if it stands elsewhere.
const clang::Stmt *statementOf(const LaunchFact &fact);

/// Whether the value of \p expr rests on one of \p variables, also through what other variables
/// were initialised with.
bool restsOn(const clang::Expr *expr, llvm::ArrayRef<const clang::VarDecl *> variables);

/// What conditions around \p launch, of which nothing has changed since, have shown to be true.
std::vector<const clang::Expr *> testedBefore(const PassContext &context,
                                              const clang::CallExpr *launch);

/// Whether \p launch only runs where a condition of a generated kernel does not hold.
bool isFallbackLaunch(const PassContext &context, const clang::CallExpr *launch);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHORDER_H
