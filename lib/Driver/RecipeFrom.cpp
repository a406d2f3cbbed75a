//===- RecipeFrom.cpp - A recipe of two programs --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns `kb-opt recipes from`: drafts a recipe, finds out what it may promise, tries it, and writes
// it whole or not at all.
//
//===----------------------------------------------------------------------===//
#include "Context.h"
#include "RecipeAdmission.h"
#include "RecipesCommand.h"
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Rewrite/MakeRecipe.h"
#include "kb-opt/Rewrite/PassFile.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
using llvm::StringRef;
namespace path = llvm::sys::path;

/// "rowNorm" as "row-norm", behind it what tells recipes of one kernel apart.
static std::string nameFor(StringRef kernel, StringRef before, StringRef after) {
  std::string name;
  for (char c : kernel) {
    if (llvm::isUpper(c) && !name.empty() && name.back() != '-')
      name += '-';
    if (llvm::isAlnum(c))
      name += llvm::toLower(c);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  if (name.empty() || !llvm::isLower(name.front()))
    name = "kernel-" + name;
  const std::string digest = DigestBuilder().add(before).add(after).finish();
  return name + (name.back() == '-' ? "" : "-") + digest.substr(0, 6);
}

/// The program in \p file, parsed as kb-opt would to rewrite it.
static llvm::Expected<std::unique_ptr<ParsedProgram>>
parseFile(ProgramParser &parser, const std::string &file, const std::vector<std::string> &flags) {
  if (!llvm::sys::fs::exists(file))
    return llvm::make_error<UsageError>(
        "there is no file '" + file + "'",
        "name two programs: kb-opt recipes from before.cu after.cu");
  std::vector<const char *> words = {"--emit=kb-ir", file.c_str(), "--"};
  for (const std::string &flag : flags)
    words.push_back(flag.c_str());
  auto options = parseOptions(words);
  if (!options)
    return options.takeError();
  Progress progress(llvm::nulls(), false, true, false);
  Context context(progress, llvm::outs(), llvm::errs());
  context.options = std::move(*options);
  if (llvm::Error error = openInput(context))
    return std::move(error);
  return parser.parse(context.command, context.text);
}

namespace {

/// A recipe under way, in a folder of its own until it is admitted.
class Maker {
public:
  Maker(const RecipeOrder &order, TemporaryDirectory work) : order(order), work(std::move(work)) {}

  llvm::Expected<RecipeOutcome> run() {
    ProgramParser parser;
    auto before = parseFile(parser, order.before, order.flags),
         after = parseFile(parser, order.after, order.flags);
    if (!before || !after)
      return llvm::joinErrors(before.takeError(), after.takeError());
    const std::string first = (*before)->text().str(), second = (*after)->text().str();
    auto made = draftRecipe(first, second, (*before)->command());
    if (!made)
      return RecipeOutcome{"", llvm::toString(made.takeError())};
    draft = std::move(*made);
    words.name = order.name.empty() ? nameFor(draft.kernel, first, second) : order.name;
    words.summary = "Do to kernels like '" + draft.kernel + "' what was proven for it";
    words.description = order.origin.empty() ? "Made of " + path::filename(order.before).str() +
                                                   " and " + path::filename(order.after).str() + "."
                                             : order.origin;
    words.states = order.states.empty() ? StateRules::builtin().names() : order.states;
    describe();
    if (llvm::Error error = write(work.path(), first, second))
      return std::move(error);
    return admit(parser, **before, first, second);
  }

private:
  void describe() const {
    order.say("recipe '" + words.name + "' of kernel '" + draft.kernel + "'");
    for (const std::string &each : draft.open)
      order.say("  open: " + each);
    for (const auto &[name, value] : draft.parameters)
      order.say("  tuned: " + name + ", " + std::to_string(value) + " here");
  }

  RecipeTrial trial(const ParsedProgram &before) const {
    RecipeTrial trial;
    static int anchor;
    trial.executable = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
    trial.folder = folderIn(work.path());
    trial.kernel = draft.kernel;
    llvm::SmallString<128> place(order.before);
    llvm::sys::fs::make_absolute(place);
    trial.flags = order.flags;
    trial.flags.push_back("-I" + path::parent_path(place).str());
    trial.sandbox = order.sandbox;
    trial.passed = [this](const std::string &text) { order.say("  " + text); };
    return trial;
  }

  /// Leaves open what may be, and writes the recipe so.
  llvm::Error closeWhatMustBe(const RecipeTrial &tried, const ParsedProgram &before,
                              const std::string &first, const std::string &second) {
    std::vector<std::string> closed;
    for (;;) {
      if (llvm::Error error = write(work.path(), first, second))
        return error;
      auto wrong = wronglyOpen(tried, before, words.promise, draft.open);
      if (!wrong)
        return wrong.takeError();
      if (wrong->empty())
        return llvm::Error::success();
      for (const std::string &each : *wrong) {
        order.say("  closed: " + each + ", for another value there is not proven");
        closed.push_back(each);
      }
      auto again = draftRecipe(first, second, before.command(), closed);
      if (!again)
        return again.takeError();
      draft = std::move(*again);
    }
  }

  llvm::Expected<RecipeOutcome> admit(ProgramParser &parser, const ParsedProgram &before,
                                      const std::string &first, const std::string &second) {
    const RecipeTrial tried = trial(before);
    std::string why;
    auto promise = provenPromise(tried, before, why);
    if (!promise)
      return promise.takeError();
    if (!*promise)
      return RecipeOutcome{"", why};
    words.promise = **promise;
    order.say("  proven on its own example, promise: " + promiseName(words.promise).str());
    if (llvm::Error error = closeWhatMustBe(tried, before, first, second))
      return std::move(error);
    auto pass = readPassFolder(realFileSystem(), tried.folder);
    if (!pass)
      return pass.takeError();
    auto refusal = whyNotAdmitted(tried, *pass->info->recipe, before, words.promise);
    if (!refusal)
      return refusal.takeError();
    if (refusal->empty() && !order.like.empty())
      refusal = whyUnlike(parser, tried);
    if (!refusal)
      return refusal.takeError();
    if (!refusal->empty())
      return RecipeOutcome{"", *refusal};
    if (llvm::Error error = write(order.folder, first, second))
      return std::move(error);
    return RecipeOutcome{folderIn(order.folder), ""};
  }

  /// Why the recipe does not do to the program `like` what was done to it; empty if it does.
  llvm::Expected<std::string> whyUnlike(ProgramParser &parser, const RecipeTrial &tried) const {
    auto like = parseFile(parser, order.like, order.flags);
    if (!like)
      return like.takeError();
    auto why = whyNotProven(tried, **like, words.promise);
    if (why && why->empty())
      order.say("  proven on the program that was rewritten");
    return why;
  }

  std::string folderIn(StringRef folder) const { return (folder + "/" + words.name).str(); }

  /// pass.yaml comes last: without it a folder is no recipe.
  llvm::Error write(StringRef folder, const std::string &first, const std::string &second) const {
    FileSystem &files = realFileSystem();
    const std::string place = folderIn(folder);
    if (llvm::Error error = files.createDirectories(place + "/examples"))
      return error;
    for (auto [name, text] :
         {std::pair("/examples/before.cu", first), std::pair("/examples/after.cu", second),
          std::pair("/pass.yaml", recipeYaml(draft, words))})
      if (llvm::Error error = files.write(place + name, text))
        return error;
    return llvm::Error::success();
  }

  const RecipeOrder &order;
  TemporaryDirectory work;
  RecipeDraft draft;
  RecipeWords words;
};

} // namespace

llvm::Expected<RecipeOutcome> kbopt::makeRecipe(const RecipeOrder &order) {
  auto work = TemporaryDirectory::create("kb-opt-recipe");
  if (!work)
    return work.takeError();
  return Maker(order, std::move(*work)).run();
}
