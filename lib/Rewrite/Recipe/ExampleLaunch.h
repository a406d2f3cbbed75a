//===- ExampleLaunch.h - How a recipe's kernel is launched ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what examples say of launches: the configuration and the arguments afterwards, as texts over
// what was passed to the kernel before. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_EXAMPLELAUNCH_H
#define KBOPT_LIB_REWRITE_RECIPE_EXAMPLELAUNCH_H

#include "LaunchWays.h"
#include <set>

namespace kbopt {

/// The name that stands in texts for argument \p index of the launch before.
std::string argumentName(size_t index);

/// How a launch is written afterwards: one way of those that it has become. Texts hold argument
/// names, numbers, and names that the recipe makes.
struct ChangedLaunch {
  std::string condition;          ///< empty: in all other cases
  std::string kernel;             ///< name of the launched one
  bool isAsBefore = false;        ///< the launch that the program has; what follows is empty
  std::vector<std::string> setup; ///< calls that come before

  struct Part {
    std::string text;    ///< empty: not written
    bool isKept = false; ///< as it was in the program
  };
  Part grid, block, shared, stream;
  std::vector<std::string> arguments;

  bool operator==(const ChangedLaunch &other) const;
};

/// What \p way does in place of \p before. \p made are names that the recipe brings along or
/// leaves. An error says what the launch uses that is not known elsewhere.
llvm::Expected<ChangedLaunch> changedLaunch(const ParsedProgram &program, const LaunchFact &before,
                                            const ParsedProgram &rewritten, const LaunchWay &way,
                                            const std::set<std::string> &made);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_EXAMPLELAUNCH_H
