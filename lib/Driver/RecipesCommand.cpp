//===- RecipesCommand.cpp - kb-opt recipes --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the subcommand `recipes`: makes recipes of programs, lists, explains, tests and retires
// them.
//
//===----------------------------------------------------------------------===//
#include "RecipesCommand.h"
#include "Context.h"
#include "RecipeAdmission.h"
#include "RecipeFolder.h"
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Rewrite/MakeRecipe.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
using llvm::StringRef;

static constexpr llvm::StringLiteral help =
    R"(usage: kb-opt recipes [options] [list | explain NAME | test [NAME...] | retire NAME [REASON]]
       kb-opt recipes [options] from <before.cu> <after.cu> [-- <compiler flags>]

Recipes are passes whose rule is an example (docs/Recipes.md). Those that come with kb-opt and those
in the folder `recipes` of the knowledge are tried in every search.

  list               All of them, with what evidence says of each (the default)
  explain NAME       What one does, what is open in it, and what it has gained
  test [NAME...]     Try them as `from` does; without names all of the user's
  retire NAME        Do not use it any more; REASON is shown by list
  from               Make one of a program before and after, and keep it if it passes its trials

  --knowledge=<dir>  The folder of what is known (the user's own)
  --name=<name>      Of the new recipe; else after its kernel
  -o <dir>           Put the new recipe there, and not into the knowledge
  --unsafe-no-sandbox
  --help             Print this text

Exit status: 0 done, 1 a recipe did not pass its trials, 2 usage, 3 something is missing.
)";

namespace {

struct RecipesOptions {
  std::vector<std::string> words;
  std::string knowledge, name, output;
  std::vector<std::string> flags;
  bool sandbox = true, help = false;
};

llvm::Expected<RecipesOptions> readOptions(llvm::ArrayRef<const char *> arguments) {
  RecipesOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef word = arguments[i];
    if (word == "--") {
      options.flags.assign(arguments.begin() + i + 1, arguments.end());
      break;
    }
    if (word.consume_front("--knowledge="))
      options.knowledge = word.str();
    else if (word.consume_front("--name="))
      options.name = word.str();
    else if (word == "-o" && i + 1 < arguments.size())
      options.output = arguments[++i];
    else if (word == "--unsafe-no-sandbox")
      options.sandbox = false;
    else if (word == "--help" || word == "-h")
      options.help = true;
    else if (word.starts_with("-"))
      return llvm::make_error<UsageError>("unknown option '" + word.str() + "'",
                                          "see kb-opt recipes --help");
    else
      options.words.push_back(word.str());
  }
  if (options.knowledge.empty())
    options.knowledge = userKnowledgeDirectory();
  return options;
}

/// What was tried with a recipe, on all chips and devices.
std::string evidenceOf(const FoldedKnowledge &known, StringRef name) {
  uint64_t tries = 0, correct = 0;
  double gain = 0, count = 0;
  for (const auto &[key, row] : known.passes)
    if (key.pass == name) {
      tries += row.tries;
      correct += row.correct;
      gain += row.gain.mean * double(row.gain.count);
      count += double(row.gain.count);
    }
  if (!tries)
    return "not tried yet";
  std::string text = llvm::formatv("{0} tried, {1} correct", tries, correct);
  if (count > 0)
    text += llvm::formatv(", {0:f2} x on average", std::exp(gain / count));
  return text;
}

llvm::Expected<FoldedKnowledge> foldedIn(const RecipesOptions &options) {
  std::vector<BadLine> bad;
  EvidenceSet all = builtinEvidence("cuda", bad);
  all.merge(builtinEvidence("cpu-modelled", bad));
  auto own = readEvidence(realFileSystem(), evidenceLog(options.knowledge), bad);
  if (!own)
    return own.takeError();
  all.merge(*own);
  return foldEvidence(all);
}

llvm::Expected<ExitStatus> list(const RecipesOptions &options) {
  auto known = foldedIn(options);
  if (!known)
    return known.takeError();
  const auto recipes =
      knownRecipes(realFileSystem(), recipesFolder(knowledgeFolder(options.knowledge)));
  for (const KnownRecipe &each : recipes)
    llvm::outs() << each.name << ": "
                 << (!each.fault.empty() ? "cannot be used: " + each.fault
                     : !each.retired.empty()
                         ? "retired: " + each.retired
                         : each.pass.info->summary.str() + "; " + evidenceOf(*known, each.name))
                 << (each.folder.empty() ? " [kb-opt]" : "") << "\n";
  if (recipes.empty())
    llvm::outs() << "no recipes; kb-opt recipes from before.cu after.cu makes one\n";
  return ExitStatus::Success;
}

llvm::Expected<KnownRecipe> recipeNamed(const RecipesOptions &options, StringRef name) {
  std::vector<std::string> names;
  for (KnownRecipe &each :
       knownRecipes(realFileSystem(), recipesFolder(knowledgeFolder(options.knowledge)))) {
    if (each.name == name)
      return std::move(each);
    names.push_back(each.name);
  }
  return llvm::make_error<UsageError>("there is no recipe '" + name.str() + "'",
                                      names.empty() ? "kb-opt recipes from makes one"
                                                    : "there are: " + llvm::join(names, ", "));
}

/// The recipe of that name that can be read.
llvm::Expected<KnownRecipe> readableRecipe(const RecipesOptions &options, StringRef name) {
  auto recipe = recipeNamed(options, name);
  if (recipe && !recipe->fault.empty())
    return llvm::make_error<UsageError>("recipe '" + name.str() + "': " + recipe->fault, "",
                                        ExitStatus::Diagnostics);
  return recipe;
}

llvm::Expected<ExitStatus> explain(const RecipesOptions &options) {
  auto recipe = readableRecipe(options, options.words[1]);
  if (!recipe)
    return recipe.takeError();
  auto known = foldedIn(options);
  if (!known)
    return known.takeError();
  const PassInfo &info = *recipe->pass.info;
  llvm::outs() << info.name << ": " << info.summary << "\n"
               << info.description << "\n"
               << "from: " << (recipe->folder.empty() ? "kb-opt" : recipe->folder) << "\n"
               << "promise: " << promiseName(info.promise) << "\n"
               << "evidence: " << evidenceOf(*known, info.name) << "\n";
  if (!recipe->retired.empty())
    llvm::outs() << "retired: " << recipe->retired << "\n";
  for (const OptionInfo &option : info.options)
    llvm::outs() << "tuned: " << option.name << ", one of " << llvm::join(option.tuning, ", ")
                 << "\n";
  for (StringRef open : info.recipe->open)
    llvm::outs() << "open: " << open << "\n";
  if (!info.recipe->kernel.empty())
    llvm::outs() << "applies to kernels like:\n" << info.recipe->kernel << "\n";
  return ExitStatus::Success;
}

void say(const std::string &text) { llvm::outs() << text << "\n"; }

/// The trials of `from` once more, for a recipe that is there. False if it failed.
llvm::Expected<bool> testOne(const RecipesOptions &options, const KnownRecipe &recipe) {
  auto work = TemporaryDirectory::create("kb-opt-recipe");
  if (!work)
    return work.takeError();
  RecipeOrder order;
  order.before = work->file("before.cu");
  order.after = work->file("after.cu");
  order.name = recipe.name;
  order.folder = work->file("recipes");
  order.flags = options.flags;
  order.sandbox = options.sandbox;
  order.say = say;
  const RecipeForm &form = *recipe.pass.info->recipe;
  if (llvm::Error error = llvm::joinErrors(realFileSystem().write(order.before, form.before),
                                           realFileSystem().write(order.after, form.after)))
    return std::move(error);
  auto outcome = makeRecipe(order);
  if (!outcome)
    return outcome.takeError();
  say(outcome->folder.empty() ? "  failed: " + outcome->reason : "  passed");
  return !outcome->folder.empty();
}

llvm::Expected<ExitStatus> test(const RecipesOptions &options) {
  std::vector<KnownRecipe> tested;
  if (options.words.size() == 1) {
    for (KnownRecipe &each :
         knownRecipes(realFileSystem(), recipesFolder(knowledgeFolder(options.knowledge))))
      if (!each.folder.empty() && each.fault.empty() && each.retired.empty())
        tested.push_back(std::move(each));
  }
  for (const std::string &name : llvm::drop_begin(options.words)) {
    auto recipe = readableRecipe(options, name);
    if (!recipe)
      return recipe.takeError();
    tested.push_back(std::move(*recipe));
  }
  bool areGood = true;
  for (const KnownRecipe &each : tested) {
    auto passed = testOne(options, each);
    if (!passed)
      return passed.takeError();
    areGood &= *passed;
  }
  return areGood ? ExitStatus::Success : ExitStatus::Diagnostics;
}

llvm::Expected<ExitStatus> retire(const RecipesOptions &options) {
  auto recipe = recipeNamed(options, options.words[1]);
  if (!recipe)
    return recipe.takeError();
  if (recipe->retired.empty())
    if (llvm::Error error =
            retireRecipe(realFileSystem(), recipesFolder(knowledgeFolder(options.knowledge)),
                         recipe->name, llvm::join(llvm::drop_begin(options.words, 2), " ")))
      return std::move(error);
  say("recipe '" + recipe->name + "' is retired: delete its line in " +
      recipesFolder(knowledgeFolder(options.knowledge)) + "/retired to use it again");
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> from(const RecipesOptions &options) {
  RecipeOrder order;
  order.before = options.words[1];
  order.after = options.words[2];
  order.name = options.name;
  order.folder =
      options.output.empty() ? recipesFolder(knowledgeFolder(options.knowledge)) : options.output;
  order.flags = options.flags;
  order.sandbox = options.sandbox;
  order.say = say;
  auto outcome = makeRecipe(order);
  if (!outcome)
    return outcome.takeError();
  if (outcome->folder.empty()) {
    llvm::errs() << "kb-opt: error: no recipe of '" << order.before << "' and '" << order.after
                 << "': " << outcome->reason << "\n";
    return ExitStatus::Diagnostics;
  }
  say("recipe: " + outcome->folder);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> dispatch(const RecipesOptions &options) {
  struct Verb {
    StringRef name;
    size_t least, most; ///< words, itself included
    llvm::Expected<ExitStatus> (*run)(const RecipesOptions &);
  };
  static const Verb verbs[] = {{"list", 1, 1, list},
                               {"explain", 2, 2, explain},
                               {"test", 1, SIZE_MAX, test},
                               {"retire", 2, SIZE_MAX, retire},
                               {"from", 3, 3, from}};
  const StringRef first = options.words.empty() ? "list" : StringRef(options.words.front());
  for (const Verb &verb : verbs) {
    if (verb.name != first)
      continue;
    const size_t count = std::max<size_t>(1, options.words.size());
    if (count < verb.least || count > verb.most)
      break;
    return verb.run(options);
  }
  return llvm::make_error<UsageError>("'recipes " + llvm::join(options.words, " ") +
                                          "' is not understood",
                                      "see kb-opt recipes --help");
}

} // namespace

int kbopt::runRecipesCommand(llvm::ArrayRef<const char *> arguments) {
  auto options = readOptions(arguments);
  auto status = [&]() -> llvm::Expected<ExitStatus> {
    if (!options)
      return options.takeError();
    if (options->help) {
      llvm::outs() << help;
      return ExitStatus::Success;
    }
    return dispatch(*options);
  }();
  return static_cast<int>(status ? *status
                                 : reportError(llvm::errs(), "kb-opt", status.takeError()));
}
