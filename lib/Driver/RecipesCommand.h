//===- RecipesCommand.h - kb-opt recipes ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_RECIPESCOMMAND_H
#define KBOPT_LIB_DRIVER_RECIPESCOMMAND_H

#include "kb-opt/Core/PassInfo.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <string>
#include <vector>

namespace kbopt {

/// `kb-opt recipes`, which `kb-knowledge recipes` runs as well.
int runRecipesCommand(llvm::ArrayRef<const char *> arguments);

/// From which programs a recipe is made, and where it goes.
struct RecipeOrder {
  std::string before, after; ///< files
  /// A file with a program that the recipe has to apply to; empty: `before` alone.
  std::string like;
  std::string name;                ///< empty: after the kernel
  std::string folder;              ///< where recipes lie
  std::string origin;              ///< where it comes from, a sentence for its description
  std::vector<std::string> states; ///< empty: all
  std::vector<std::string> flags;  ///< the compiler's
  bool sandbox = true;
  std::function<void(const std::string &)> say = [](const std::string &) {};
};

/// A recipe that was written, or why there is none.
struct RecipeOutcome {
  std::string folder; ///< empty: there is none
  std::string reason;
};

/// Makes a recipe of two programs and tries it; writes it only if it is admitted. Errors are those
/// of tools and files.
llvm::Expected<RecipeOutcome> makeRecipe(const RecipeOrder &order);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_RECIPESCOMMAND_H
