//===- ExampleProgram.h - What a recipe's examples say ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two parsed programs of a recipe, and what was changed between them. Private to the
// library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H
#define KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H

#include "ExampleLaunch.h"
#include "MatchFunctions.h"
#include "kb-opt/Core/PassInfo.h"

namespace kbopt {

/// What \p program declares for the device, or as a constant, in its main file.
struct DeviceDeclaration {
  std::string name, text;
  const clang::Decl *declaration = nullptr;
};
std::vector<DeviceDeclaration> deviceDeclarations(const ParsedProgram &program);

/// The name that stands in texts for open expression \p number.
std::string openName(unsigned number);

/// The same program before and after. Valid as long as it lives.
struct ExampleProgram {
  std::unique_ptr<ParsedProgram> before, after;
  const clang::FunctionDecl *kernel = nullptr; ///< of `before`: the only one that changed
  OpenPlaces open;                             ///< in its body
  /// What `after` declares and `before` does not, in order. Open expressions have the names
  /// `openName`, and of the launched kernel the list of parameters is the name `parametersName`.
  std::vector<DeviceDeclaration> made;
  /// Of the launched kernel, as written; empty if it is not one of `made`.
  std::vector<std::string> parameters;
  std::string launched; ///< name of the kernel that `after` launches
  ChangedLaunch launch;
  std::vector<std::string> includes; ///< lines of `after` that `before` does not have

  static constexpr llvm::StringLiteral parametersName = "kbParameters";
};

/// The examples of \p recipe, parsed as \p command says, once for each pair of texts. An error says
/// what about them is no recipe.
llvm::Expected<const ExampleProgram &> exampleProgram(const RecipeForm &recipe,
                                                      const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H
