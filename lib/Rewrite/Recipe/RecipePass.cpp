//===- RecipePass.cpp - A pass whose rule is an example ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Application.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Recipe.h"
#include <mutex>

using namespace kbopt;
using namespace clang;

std::vector<Site> RecipePass::sites(const PassContext &, const KernelView &kernel) const {
  return ast::kernelSites(kernel);
}

llvm::Expected<Rewrite> RecipePass::rewrite(const PassContext &context, const Site &site,
                                            const PassOptions &options) const {
  const KernelView &kernel = *site.kernel;
  const RecipeForm &recipe = *info->recipe;
  const FunctionDecl *function = kernel.function()->getDefinition();
  if (!function || kernel.isInHeader() || function->isTemplated() || kernel.launches.empty())
    return decline("it is a template, lies in a header, or is not launched here");
  const std::string other = "it is another kernel than that of '" + info->name.str() + "'";
  // Most kernels are told apart without parsing anything.
  if (!recipe.kernel.empty() &&
      !mayStandFor(tokenCounts(recipe.kernel, recipe.open), !recipe.open.empty(),
                   tokenCounts(context.text(function->getSourceRange()))))
    return decline(other);
  llvm::Expected<const ExampleProgram &> example =
      exampleProgram(recipe, context.parsed().command());
  if (!example)
    return decline("'" + info->name + "' is no recipe: " + llvm::toString(example.takeError()));
  static std::mutex mutex; // the example's tree is shared, and read lazily
  std::lock_guard<std::mutex> lock(mutex);
  std::optional<FunctionMatch> match = matchFunctions(example->kernel, function, example->open);
  if (!match)
    return decline(other);
  llvm::Expected<Rewrite> rewrite = applyExample(context, kernel, *example, *match, options);
  if (rewrite)
    rewrite->summary = "did to '" + kernel.name().str() + "' what the examples of '" +
                       info->name.str() + "' did to '" + example->kernel->getNameAsString() + "'";
  return rewrite;
}
