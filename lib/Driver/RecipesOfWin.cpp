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

  /// Makes the recipe of the first of \p choices that becomes one. A model is asked about the first
  /// alone, where none does.
  llvm::Expected<RecipeOutcome> run(llvm::ArrayRef<RecipePrograms> choices) {
    std::optional<RecipeOutcome> first;
    for (const RecipePrograms &each : choices) {
      ofFirst = &each == choices.begin();
      auto outcome = make(each, each);
      if (!outcome || !outcome->folder.empty())
        return outcome;
      context.progress.detail("no recipe yet: " + outcome->reason);
      if (!first)
        first = std::move(*outcome);
    }
    ofFirst = true;
    return model ? generalize(choices.front(), std::move(*first)) : std::move(*first);
  }
  /// Whether what was tried last is the first choice.
  bool isOfFirst() const { return ofFirst; }

private:
  /// So often is a model asked for one step.
  static constexpr unsigned mostQuestions = 2;

  /// Asks a model to write what was \p rewritten so that it makes a recipe; \p outcome says why it
  /// does not.
  llvm::Expected<RecipeOutcome> generalize(const RecipePrograms &rewritten, RecipeOutcome outcome) {
    RecipePrograms tried = rewritten;
    for (unsigned asked = 0; asked != mostQuestions; ++asked) {
      auto answer = askGeneralizer(*model, tried, outcome.reason);
      if (!answer)
        return answer.takeError();
      if (!answer->answers())
        return RecipeOutcome{"", outcome.reason + "; asked to generalize it: " + answer->cannot};
      tried = std::move(answer->programs);
      auto made = make(tried, rewritten);
      if (!made || !made->folder.empty())
        return made;
      outcome = std::move(*made);
      context.progress.detail("no recipe yet: " + outcome.reason);
    }
    return outcome;
  }

  /// A recipe of \p programs that also does to what was \p rewritten what was done to it.
  llvm::Expected<RecipeOutcome> make(const RecipePrograms &programs,
                                     const RecipePrograms &rewritten) {
    order.before = work.file("before.cu");
    order.after = work.file("after.cu");
    order.like = work.file("like.cu");
    for (const auto &[file, text] :
         {std::pair(order.before, &programs.before), std::pair(order.after, &programs.after),
          std::pair(order.like, &rewritten.before)})
      if (llvm::Error error = context.files.write(file, *text))
        return std::move(error);
    return makeRecipe(order);
  }

  Context &context;
  Model *model;
  RecipeOrder order;
  TemporaryDirectory work;
  bool ofFirst = true;
};

} // namespace

/// What the steps to \p index made of the original program, and what that step made of the program
/// before it. A recipe of the whole way applies to more: other programs seldom are what a step
/// made.
static llvm::Expected<std::vector<RecipePrograms>>
programsOf(Context &context, llvm::ArrayRef<Step> pipeline, size_t index) {
  auto after = textBehind(context, pipeline, index + 1);
  if (!after)
    return after.takeError();
  std::vector<RecipePrograms> choices{{context.text, *after}};
  if (index == 0)
    return choices;
  auto before = textBehind(context, pipeline, index);
  if (!before)
    return before.takeError();
  choices.push_back({std::move(*before), std::move(*after)});
  return choices;
}

/// \p isWhole tells whether the recipe is of the whole way.
static llvm::Expected<RecipeOutcome> recipeOf(Context &context, Model *model,
                                              const SearchResult &result, size_t index,
                                              llvm::StringRef directory, bool &isWhole) {
  auto work = TemporaryDirectory::create("kb-opt-win");
  if (!work)
    return work.takeError();
  auto choices = programsOf(context, result.pipeline, index);
  if (!choices)
    return choices.takeError();
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
  RecipeOfStep maker(context, model, std::move(order), std::move(*work));
  auto outcome = maker.run(*choices);
  isWhole = maker.isOfFirst();
  return outcome;
}

void kbopt::keepRecipes(Context &context, Model *model, const SearchResult &result,
                        llvm::StringRef directory, double secondsLeft) {
  // The last one first: its way includes those of the steps before it.
  bool isDone = false;
  for (size_t index = result.pipeline.size(); index-- > 0 && !isDone;) {
    const Step &step = result.pipeline[index];
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
    bool isWhole = false;
    auto outcome = recipeOf(context, model, result, index, directory, isWhole);
    isDone = outcome && !outcome->folder.empty() && isWhole;
    if (!outcome)
      context.progress.line("no recipe of " + what + ": " + llvm::toString(outcome.takeError()));
    else if (outcome->folder.empty())
      context.progress.line("no recipe of " + what + ": " + outcome->reason);
    else
      context.progress.line("recipe of " + what + ": " + outcome->folder +
                            "; searches try it from now on");
  }
}
