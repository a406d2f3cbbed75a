//===- Generalizer.h - Asks a model for a recipe's programs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question to the role `generalizer`: two programs of which a comparison makes no recipe,
// to be written so that one comes of them. What the answer is worth is found out by the trials of
// recipes, not here.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_AGENTS_GENERALIZER_H
#define KBOPT_AGENTS_GENERALIZER_H

#include "kb-opt/LLM/Model.h"

namespace kbopt {

/// Two programs that may make a recipe.
struct RecipePrograms {
  std::string before, after;
};

struct GeneralizerAnswer {
  RecipePrograms programs; ///< with the edits of the answer; empty if there is none
  std::string cannot;      ///< why there is none, in the words of the model or of the machinery
  bool answers() const { return cannot.empty(); }
};

/// Asks \p model once, and again where an edit finds no place. \p reason says why \p programs make
/// no recipe. The model is not shown their workloads, and may not edit them. Errors are those that
/// the user has to mend; a budget that is spent, or a service that does not answer, is in `cannot`.
llvm::Expected<GeneralizerAnswer> askGeneralizer(Model &model, const RecipePrograms &programs,
                                                 llvm::StringRef reason);

} // namespace kbopt

#endif // KBOPT_AGENTS_GENERALIZER_H
