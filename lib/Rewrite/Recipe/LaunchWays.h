//===- LaunchWays.h - Launches under conditions -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the places where a rewritten program launches: a launch, or several of which a condition
// chooses one. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_LAUNCHWAYS_H
#define KBOPT_LIB_REWRITE_RECIPE_LAUNCHWAYS_H

#include "kb-opt/Source/ParsedProgram.h"
#include "kb-opt/Source/ProgramFacts.h"

namespace kbopt {

struct LaunchWay {
  const clang::Expr *condition = nullptr; ///< null: in all other cases
  const LaunchFact *launch = nullptr;
  /// Calls of cudaFuncSetAttribute for the launched kernel.
  std::vector<const clang::CallExpr *> setup;
  bool mayStay = false; ///< of the kernel before, which the program keeps
};
/// The ways in order. The last one has no condition.
using LaunchPlace = std::vector<LaunchWay>;

/// Where \p program launches, in source order. The launches in the branches of an `if ... else`
/// that \p before does not have are one place. An error says what such branches hold beside a
/// launch each.
llvm::Expected<std::vector<LaunchPlace>> launchPlaces(const ParsedProgram &program,
                                                      const ParsedProgram &before);

/// Whether \p launch runs only where a condition for the launch of another kernel does not hold.
bool isOtherWay(const ParsedProgram &program, const LaunchFact &launch);

/// Whether \p launch is a statement of a list in braces, in place of which there may be several.
bool standsInList(const ParsedProgram &program, const LaunchFact &launch);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_LAUNCHWAYS_H
