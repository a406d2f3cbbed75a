//===- RecipeAdmission.h - Whether a recipe may be used ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the trials of a recipe before it joins the others: on its own example, on programs that are
// made of it by machine, and on kernels that it must leave alone. Private to the driver.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_RECIPEADMISSION_H
#define KBOPT_LIB_DRIVER_RECIPEADMISSION_H

#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Source/ParsedProgram.h"
#include <functional>

namespace kbopt {

/// What a trial runs with. Programs that are judged run in processes of their own.
struct RecipeTrial {
  std::string executable;         ///< this kb-opt
  std::string folder;             ///< of the recipe, whose last part is its name
  std::string kernel;             ///< of its examples/before.cu
  std::vector<std::string> flags; ///< the compiler's, for all programs
  bool sandbox = true;
  /// Told of each trial that passed.
  std::function<void(const std::string &)> passed = [](const std::string &) {};
};

/// Why the recipe is not admitted with \p promise; empty if it is: it makes of its own example what
/// the judge proves, and of two machine-made variants (renamed and permuted; other sizes), and it
/// matches no kernel that does something else, nor its own result. \p recipe and \p before are the
/// recipe's; errors are those of tools.
llvm::Expected<std::string> whyNotAdmitted(const RecipeTrial &trial, const RecipeForm &recipe,
                                           const ParsedProgram &before, Promise promise);

/// Why what the recipe makes of \p program is not proven with \p promise; empty if it is.
llvm::Expected<std::string> whyNotProven(const RecipeTrial &trial, const ParsedProgram &program,
                                         Promise promise);

/// Those of \p open, what is open in the recipe, that must not be: with another value in their
/// place the judge does not prove what the recipe makes of its example. Empty if all may be.
llvm::Expected<std::vector<std::string>> wronglyOpen(const RecipeTrial &trial,
                                                     const ParsedProgram &before, Promise promise,
                                                     llvm::ArrayRef<std::string> open);

/// The strongest promise with which the judge proves what the recipe makes of its own example; none
/// if there is none, with the judge's words in \p why.
llvm::Expected<std::optional<Promise>> provenPromise(const RecipeTrial &trial,
                                                     const ParsedProgram &before, std::string &why);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_RECIPEADMISSION_H
