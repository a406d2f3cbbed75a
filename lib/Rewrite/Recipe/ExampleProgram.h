//===- ExampleProgram.h - What a recipe's examples say ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two parsed programs of a recipe, and what was changed between them. Private to the
// library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H
#define KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H

#include "Definitions.h"
#include "ExampleLaunch.h"
#include "MatchFunctions.h"
#include "kb-opt/Core/PassInfo.h"

namespace kbopt {

/// The name that stands in texts for open expression \p number.
std::string openName(unsigned number);

/// The same program before and after. Valid as long as it lives.
struct ExampleProgram {
  std::unique_ptr<ParsedProgram> before, after;
  const clang::FunctionDecl *kernel = nullptr; ///< of `before`: the only one that changed
  bool keepsKernel = false; ///< it stays as it is, for launches under a condition
  OpenPlaces open;          ///< in its body
  /// What `after` defines and `before` does not, in order; for the host, what the launches use.
  /// Open expressions have the names `openName`, and of the launched kernel the list of parameters
  /// is the name `parametersName`.
  std::vector<Definition> made;
  /// Of the launched kernel, as written; empty if it is not one of `made`.
  std::vector<std::string> parameters;
  std::string launched; ///< name of the kernel that `after` launches, in the first new way
  std::vector<ChangedLaunch> ways;   ///< what each launch has become
  std::vector<std::string> includes; ///< lines of `after` that `before` does not have

  static constexpr llvm::StringLiteral parametersName = "kbParameters";
};

/// The examples of \p recipe, parsed as \p command says, once for each pair of texts. An error says
/// what about them is no recipe.
llvm::Expected<const ExampleProgram &> exampleProgram(const RecipeForm &recipe,
                                                      const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H
