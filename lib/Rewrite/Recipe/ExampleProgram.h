//===- ExampleProgram.h - What a recipe's examples say ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the two parsed programs of a recipe, and what was changed between them. Private to the
// library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H
#define KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H

#include "kb-opt/Source/ParsedProgram.h"
#include "kb-opt/Source/ProgramFacts.h"

namespace kbopt {

/// The same kernel and its launch before and after. Valid as long as it lives.
struct ExampleProgram {
  std::unique_ptr<ParsedProgram> before, after;
  const clang::FunctionDecl *kernel = nullptr; ///< of `before`
  /// Names and texts of what `after` declares for the device and `before` does not, in order.
  std::vector<std::pair<std::string, std::string>> made;
  /// For each argument of the launch in `before` the host's variable that is passed.
  std::vector<std::string> passed;
  std::string launched;                      ///< name of the kernel that `after` launches
  std::string configuration;                 ///< between <<< and >>>
  bool hasShared = false, hasStream = false; ///< the configuration names them
  std::vector<std::string> arguments;        ///< of that launch: names of `passed`, or constants
};

/// The examples \p before and \p after, parsed as \p command says, once for each pair of texts. An
/// error says what about them is no recipe.
llvm::Expected<const ExampleProgram &> exampleProgram(llvm::StringRef before, llvm::StringRef after,
                                                      const CompileCommand &command);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_RECIPE_EXAMPLEPROGRAM_H
