//===- RecipesOfWin.h - What a model proved, kept ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_RECIPESOFWIN_H
#define KBOPT_LIB_DRIVER_RECIPESOFWIN_H

#include "Context.h"
#include "kb-opt/LLM/Model.h"
#include "kb-opt/Policy/Search.h"

namespace kbopt {

/// Makes a recipe of each step that a model wrote in the proven winner of \p result and that made
/// the program faster, in the knowledge in \p directory; says what came of it. Where the comparison
/// makes none, \p model is asked to write the rewrite so that it does, unless it is null. Nothing
/// that goes wrong here takes anything from the result. \p secondsLeft of the user's budget;
/// infinite without one.
void keepRecipes(Context &context, Model *model, const SearchResult &result,
                 llvm::StringRef directory, double secondsLeft);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_RECIPESOFWIN_H
