//===- MakeRecipe.h - From a proven rewrite to a pass -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the generalizer: what of two programs, before and after, makes a recipe, and the programs
// that a recipe is tried on before it is admitted.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_MAKERECIPE_H
#define KBOPT_REWRITE_MAKERECIPE_H

#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Source/ParsedProgram.h"
#include <vector>

namespace kbopt {

/// What follows from two examples.
struct RecipeDraft {
  std::string kernel;            ///< name of the changed one
  std::vector<std::string> open; ///< as in `pass.yaml`, longer ones first
  /// Constants of `after` with a power of two that tuning may halve and double.
  std::vector<std::pair<std::string, unsigned>> parameters;
};

/// The draft of \p before and \p after, whole programs that both compile as \p command says. Open
/// are the expressions that compute a floating-point value, stand in both kernels unchanged, and do
/// not read the variable that they are assigned to; but for those of \p closed. An error says why
/// there is no recipe of them.
llvm::Expected<RecipeDraft> draftRecipe(llvm::StringRef before, llvm::StringRef after,
                                        const CompileCommand &command,
                                        llvm::ArrayRef<std::string> closed = {});

/// What a recipe says of itself beside its examples.
struct RecipeWords {
  std::string name, summary, description;
  std::vector<std::string> states;
  Promise promise = Promise::Reassociates;
};
/// The pass.yaml of \p draft.
std::string recipeYaml(const RecipeDraft &draft, const RecipeWords &words);

/// The name of the kernel of \p program that is the one of \p recipe's examples; empty if none is.
/// An error says why the examples are no recipe.
llvm::Expected<std::string> kernelLike(const RecipeForm &recipe, const ParsedProgram &program);

/// \p program with other names in and of kernel \p kernel, its parameters the other way round, and
/// operands exchanged where that changes nothing.
std::string renamedVariant(const ParsedProgram &program, llvm::StringRef kernel);
/// \p program with three quarters of each size: of constants of the host of at least 64 that no
/// block has, and of the sizes of a workload in a comment. Empty if it has none.
std::string reshapedVariant(const ParsedProgram &program, llvm::StringRef kernel);
/// \p program with another value of the same type for each expression of \p open in \p kernel.
std::string openedVariant(const ParsedProgram &program, llvm::StringRef kernel,
                          llvm::ArrayRef<std::string> open);
/// Programs whose kernel \p kernel does something else: an operator or a number of it is another
/// one, outside the expressions \p open. At most \p most.
std::vector<std::string> otherKernels(const ParsedProgram &program, llvm::StringRef kernel,
                                      llvm::ArrayRef<llvm::StringRef> open, size_t most);

} // namespace kbopt

#endif // KBOPT_REWRITE_MAKERECIPE_H
