//===- LaunchLoop.h - Loops of the host around a launch ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question which loops do nothing but to launch a kernel again and again. Whether the
// launches depend on each other is asked elsewhere (BatchNest.h).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHLOOP_H
#define KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHLOOP_H

#include "kb-opt/Rewrite/AstTools.h"

namespace kbopt {

struct LaunchLoop {
  ast::CountedLoop counted;
  /// What stands in the loop after the launch, or after the loop inside: it waits and checks for
  /// errors.
  std::string after;
  /// What `#if` has to ask so that the loop is what it is in this build (DirectiveGuard.h).
  std::string guard;

  llvm::StringRef name() const { return counted.variable->getName(); }
};

/// The `for` directly around \p launch; null if there is none.
const clang::ForStmt *loopAround(const PassContext &context, const clang::Stmt *launch);

/// The loops around \p fact, innermost first, as far as each does nothing but what is inside. At
/// least one; an error is the reason why there is none.
llvm::Expected<std::vector<LaunchLoop>> launchLoops(const PassContext &context,
                                                    const LaunchFact &fact);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHLOOP_H
