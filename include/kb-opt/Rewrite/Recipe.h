//===- Recipe.h - A pass whose rule is an example ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the pass that does to a kernel what its examples/after.cu did to that of examples/before.cu:
// where a kernel is the example's up to names, order of parameters and order of operands, it and
// its launches are replaced. docs/Recipes.md describes the form.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_RECIPE_H
#define KBOPT_REWRITE_RECIPE_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// The kernel of \p before that \p after changes, from `__global__` to the end of its body, by its
/// tokens alone; of several whose launches alone changed, the first. Empty if there is none.
llvm::StringRef changedKernelIn(llvm::StringRef before, llvm::StringRef after);

class RecipePass : public RewritePass {
public:
  /// \p info has a recipe.
  explicit RecipePass(const PassInfo &info) : info(&info) {}

  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override;
  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override;

private:
  const PassInfo *info;
};

} // namespace kbopt

#endif // KBOPT_REWRITE_RECIPE_H
