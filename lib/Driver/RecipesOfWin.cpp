//===- RecipesOfWin.cpp - What a model proved, kept -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RecipesOfWin.h"
#include "RecipeFolder.h"
#include "RecipesCommand.h"
#include "kb-opt/Agents/Generalizer.h"
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

/// A step has to gain so much before it is worth a recipe.
static constexpr double leastGain = 1.05;
/// The trials of a recipe judge three programs.
static constexpr double leastSeconds = 30;

/// The program behind the first \p count steps of \p pipeline.
static llvm::Expected<std::string> textBehind(Context &context, llvm::ArrayRef<Step> pipeline,
                                              size_t count) {
  if (!count)
    return context.text;
  PipelineOptions options;
  options.registry = &context.passes;
  options.parser = &context.parser;
  options.replies = repliesFolder(context);
  options.target = context.options.chip;
  CodeEmitter emitter(context.runner, compileLimits(context));
  options.bitcode = [&](llvm::StringRef text) {
    return emitter.emitDeviceBitcode(context.command, text);
  };
  auto made = runPipeline(context.text, context.command, printPipeline(pipeline.take_front(count)),
                          options);
  if (!made)
    return made.takeError();
  return made->text;
}

namespace {

/// A step of a winner on its way to a recipe.
class RecipeOfStep {
public:
  RecipeOfStep(Context &context, Model *model, RecipeOrder order, TemporaryDirectory work)
      : context(context), model(model), order(std::move(order)), work(std::move(work)) {}

  llvm::Expected<RecipeOutcome> run(const RecipePrograms &programs) {
    order.like = work.file("like.cu");
    if (llvm::Error error = context.files.write(order.like, programs.before))
      return std::move(error);
    RecipePrograms tried = programs;
    for (unsigned asked = 0;; ++asked) {
      auto outcome = make(tried);
      if (!outcome || !outcome->folder.empty() || !model || asked == mostQuestions)
        return outcome;
      context.progress.detail("no recipe yet: " + outcome->reason);
      auto answer = askGeneralizer(*model, tried, outcome->reason);
      if (!answer)
        return answer.takeError();
      if (!answer->answers())
        return RecipeOutcome{"", outcome->reason + "; asked to generalize it: " + answer->cannot};
      tried = std::move(answer->programs);
    }
  }

private:
  /// So often is a model asked for one step.
  static constexpr unsigned mostQuestions = 2;

  llvm::Expected<RecipeOutcome> make(const RecipePrograms &programs) {
    order.before = work.file("before.cu");
    order.after = work.file("after.cu");
    if (llvm::Error error = llvm::joinErrors(context.files.write(order.before, programs.before),
                                             context.files.write(order.after, programs.after)))
      return std::move(error);
    return makeRecipe(order);
  }

  Context &context;
  Model *model;
  RecipeOrder order;
  TemporaryDirectory work;
};

} // namespace

static llvm::Expected<RecipeOutcome> recipeOf(Context &context, Model *model,
                                              const SearchResult &result, size_t index,
                                              llvm::StringRef directory) {
  auto work = TemporaryDirectory::create("kb-opt-win");
  if (!work)
    return work.takeError();
  auto before = textBehind(context, result.pipeline, index),
       after = textBehind(context, result.pipeline, index + 1);
  if (!before || !after)
    return llvm::joinErrors(before.takeError(), after.takeError());
  RecipeOrder order;
  order.folder = recipesFolder(directory);
  order.sandbox = context.options.sandbox;
  order.flags = context.options.flags.value_or(std::vector<std::string>());
  llvm::SmallString<128> input(context.command.file);
  llvm::sys::fs::make_absolute(input);
  order.flags.push_back("-I" + llvm::sys::path::parent_path(input).str());
  order.origin = "What a model wrote for '" + context.command.shownFile + "', reply " +
                 result.pipeline[index].reply.substr(0, 12) + ".";
  if (const std::string &state = result.original.state.primary;
      llvm::is_contained(StateRules::builtin().names(), state))
    order.states = {state};
  order.say = [&](const std::string &text) { context.progress.detail(text); };
  return RecipeOfStep(context, model, std::move(order), std::move(*work)).run({*before, *after});
}

void kbopt::keepRecipes(Context &context, Model *model, const SearchResult &result,
                        llvm::StringRef directory, double secondsLeft) {
  for (auto [index, step] : llvm::enumerate(result.pipeline)) {
    const auto gain = index < result.stepGains.size() ? result.stepGains[index] : std::nullopt;
    if (step.reply.empty() || (gain && *gain < leastGain))
      continue;
    const std::string what = "step '" + step.text() + "'";
    if (secondsLeft < leastSeconds || !context.options.databaseFolder.empty()) {
      context.progress.line(
          "no recipe of " + what + ": " +
          (secondsLeft < leastSeconds ? "no time is left" : "the file is part of a build") +
          "; kb-opt recipes from before.cu after.cu makes one");
      continue;
    }
    auto outcome = recipeOf(context, model, result, index, directory);
    if (!outcome)
      context.progress.line("no recipe of " + what + ": " + llvm::toString(outcome.takeError()));
    else if (outcome->folder.empty())
      context.progress.line("no recipe of " + what + ": " + outcome->reason);
    else
      context.progress.line("recipe of " + what + ": " + outcome->folder +
                            "; searches try it from now on");
  }
}
