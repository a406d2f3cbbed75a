//===- RecipeFolder.h - The recipes that a run knows ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns where recipes are kept: those that come with kb-opt, and those in a folder of the user's,
// which also says which of both are retired.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_RECIPEFOLDER_H
#define KBOPT_LIB_DRIVER_RECIPEFOLDER_H

#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/Error.h"

namespace kbopt {

/// Where the knowledge in \p knowledgeDirectory keeps its recipes.
std::string recipesFolder(llvm::StringRef knowledgeDirectory);

struct KnownRecipe {
  std::string name;
  std::string folder;    ///< empty: it comes with kb-opt
  PassRegistration pass; ///< has no info where `fault` says why
  std::string fault;     ///< why it cannot be read; empty if it can
  std::string retired;   ///< why it is not used; empty if it is
};

/// All recipes, those that come with kb-opt first unless not \p shipped, each by name. One of \p
/// folder that has the name of another is at fault.
std::vector<KnownRecipe> knownRecipes(FileSystem &files, llvm::StringRef folder,
                                      bool shipped = true);

/// Adds to \p registry the recipes that can be read, are not retired, and have no name that is
/// taken. Returns what is wrong with the others, a line each: one that cannot be read stops
/// nothing.
std::vector<std::string> loadRecipes(FileSystem &files, llvm::StringRef folder,
                                     PassRegistry &registry, bool shipped = true);

/// From now on the recipe \p name is not used by runs that know \p folder, for \p reason, one line.
llvm::Error retireRecipe(FileSystem &files, llvm::StringRef folder, llvm::StringRef name,
                         llvm::StringRef reason);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_RECIPEFOLDER_H
