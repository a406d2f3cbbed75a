//===- RecipeAdmission.cpp - Whether a recipe may be used -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RecipeAdmission.h"
#include "kb-opt/Rewrite/MakeRecipe.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Process.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

/// Programs in a private folder, and kb-opt's answers about them.
class Trials {
public:
  static llvm::Expected<Trials> create(const RecipeTrial &trial) {
    auto folder = TemporaryDirectory::create("kb-opt-recipe");
    if (!folder)
      return folder.takeError();
    return Trials(trial, std::move(*folder));
  }

  /// What the recipe makes of \p program; empty if it leaves it as it is.
  llvm::Expected<std::string> apply(StringRef program) {
    if (llvm::Error error = realFileSystem().write(given(), program))
      return std::move(error);
    auto run = kbOpt({"--pass-dir=" + trial.folder, "-passes=" + name(), "-o", made(), given()});
    if (!run)
      return run.takeError();
    if (!run->succeeded())
      return llvm::make_error<ToolError>("the recipe cannot be tried", std::vector<std::string>(),
                                         run->exitStatus, run->err);
    auto text = realFileSystem().read(made());
    if (text && StringRef(*text).trim() == program.trim())
      return std::string();
    return text;
  }

  /// The judge's words if what `apply` made is not proven; empty if it is.
  llvm::Expected<std::string> judge(Promise promise) {
    return verdict(
        {"verify", "--by-passes", ("--promise=" + promiseName(promise)).str(), given(), made()});
  }

  /// Why the judge does not prove what the recipe makes of \p program, `what` in the reason; empty
  /// if it does.
  llvm::Expected<std::string> whyUnproven(StringRef program, Promise promise,
                                          const llvm::Twine &what) {
    auto text = apply(program);
    if (!text)
      return text.takeError();
    if (text->empty())
      return ("the recipe does not apply to " + what).str();
    auto refusal = judge(promise);
    if (refusal && !refusal->empty())
      refusal = ("the judge does not prove what it makes of " + what + ": " + *refusal).str();
    return refusal;
  }

  /// What the judge says of the program itself, which must be right; empty if it is.
  llvm::Expected<std::string> judgeGiven() {
    return verdict({"verify", "--by-passes", given(), given()});
  }

private:
  Trials(const RecipeTrial &trial, TemporaryDirectory folder)
      : trial(trial), folder(std::move(folder)) {}

  std::string name() const { return llvm::sys::path::filename(trial.folder).str(); }
  std::string given() const { return folder.file("given.cu"); }
  std::string made() const { return folder.file("made.cu"); }

  llvm::Expected<ProcessResult> kbOpt(std::vector<std::string> words) {
    ProcessRequest request;
    request.argv = {trial.executable};
    auto at = words.begin();
    if (words.front() == "verify")
      request.argv.push_back(*at++);
    // Neither the user's recipes nor what was learnt has a say.
    request.argv.push_back("--knowledge=" + folder.file("knowledge"));
    request.argv.push_back("--quiet");
    if (!trial.sandbox)
      request.argv.push_back("--unsafe-no-sandbox");
    request.argv.insert(request.argv.end(), at, words.end());
    if (!trial.flags.empty()) {
      request.argv.push_back("--");
      request.argv.insert(request.argv.end(), trial.flags.begin(), trial.flags.end());
    }
    return realProcessRunner().run(request);
  }

  llvm::Expected<std::string> verdict(std::vector<std::string> words) {
    auto run = kbOpt(std::move(words));
    if (!run)
      return run.takeError();
    if (run->succeeded())
      return std::string();
    StringRef said = StringRef(run->out).trim();
    if (said.empty())
      said = StringRef(run->err).trim();
    // The first line is the verdict, the first gate that did not pass its reason.
    llvm::SmallVector<StringRef> lines;
    said.split(lines, '\n');
    for (StringRef line : lines)
      if (line.contains("failed") || line.contains("undecided") || line.contains("error:"))
        return withoutFolder(line.trim().str());
    return withoutFolder(lines.front().trim().str());
  }

  /// \p text without the path of the private folder, which is another one each time: what is said
  /// here goes to models, too.
  std::string withoutFolder(std::string text) const {
    const std::string path = folder.file("");
    for (size_t at; (at = text.find(path)) != std::string::npos;)
      text.erase(at, path.size());
    return text;
  }

  const RecipeTrial &trial;
  TemporaryDirectory folder;
};

} // namespace

llvm::Expected<std::optional<Promise>>
kbopt::provenPromise(const RecipeTrial &trial, const ParsedProgram &before, std::string &why) {
  auto trials = Trials::create(trial);
  if (!trials)
    return trials.takeError();
  for (Promise promise : {Promise::Bitwise, Promise::Reassociates, Promise::LowerPrecision}) {
    auto refusal = trials->whyUnproven(before.text(), promise, "its own example");
    if (!refusal)
      return refusal.takeError();
    if (refusal->empty())
      return promise;
    why = std::move(*refusal);
  }
  return std::nullopt;
}

llvm::Expected<std::string> kbopt::whyNotProven(const RecipeTrial &trial,
                                                const ParsedProgram &program, Promise promise) {
  auto trials = Trials::create(trial);
  if (!trials)
    return trials.takeError();
  return trials->whyUnproven(program.text(), promise, "the program that was rewritten");
}

llvm::Expected<std::vector<std::string>> kbopt::wronglyOpen(const RecipeTrial &trial,
                                                            const ParsedProgram &before,
                                                            Promise promise,
                                                            llvm::ArrayRef<std::string> open) {
  auto trials = Trials::create(trial);
  if (!trials)
    return trials.takeError();
  auto isProven = [&](llvm::ArrayRef<std::string> changed) -> llvm::Expected<bool> {
    auto refusal =
        trials->whyUnproven(openedVariant(before, trial.kernel, changed), promise, "its example");
    return refusal ? llvm::Expected<bool>(refusal->empty()) : refusal.takeError();
  };
  std::vector<std::string> wrong;
  auto all = open.empty() ? llvm::Expected<bool>(true) : isProven(open);
  if (!all)
    return all.takeError();
  if (*all) {
    if (!open.empty())
      trial.passed("proven with other values where it is open");
    return wrong;
  }
  for (const std::string &each : open) {
    auto one = isProven(each);
    if (!one)
      return one.takeError();
    if (!*one)
      wrong.push_back(each);
  }
  // Each may be another one, but not all together: then none may.
  return wrong.empty() ? open.vec() : wrong;
}

/// Kernels that do something else, and the recipe's own result: it must match none.
static llvm::Expected<std::string> whyMatchesOthers(const RecipeTrial &trial,
                                                    const RecipeForm &recipe,
                                                    const ParsedProgram &before,
                                                    const std::string &made, size_t &count) {
  constexpr size_t most = 12;
  ProgramParser parser;
  std::vector<std::string> others = otherKernels(before, trial.kernel, recipe.open, most);
  others.push_back(made);
  count = 0;
  for (const std::string &text : others) {
    auto program = parser.parse(before.command(), text);
    if (!program) { // a number that a type needs, say
      llvm::consumeError(program.takeError());
      continue;
    }
    ++count;
    auto matched = kernelLike(recipe, **program);
    if (!matched)
      return matched.takeError();
    if (text == made ? !matched->empty() : *matched == trial.kernel)
      return text == made ? "it applies to its own result, again and again"
                          : "it matches kernels that do something else";
  }
  return std::string();
}

llvm::Expected<std::string> kbopt::whyNotAdmitted(const RecipeTrial &trial,
                                                  const RecipeForm &recipe,
                                                  const ParsedProgram &before, Promise promise) {
  auto trials = Trials::create(trial);
  if (!trials)
    return trials.takeError();
  auto own = trials->apply(before.text());
  if (!own)
    return own.takeError();
  if (own->empty())
    return "the recipe does not apply to its own example";
  size_t count = 0;
  auto matches = whyMatchesOthers(trial, recipe, before, *own, count);
  if (!matches || !matches->empty())
    return matches;
  trial.passed("matches none of " + std::to_string(count) + " kernels that do something else");
  for (auto [text, what] : {std::pair(renamedVariant(before, trial.kernel),
                                      "other names, parameters and operands in another order"),
                            std::pair(reshapedVariant(before, trial.kernel), "other sizes")}) {
    if (text.empty())
      return std::string("no variant with ") + what + " can be made of examples/before.cu";
    const std::string example = std::string("its example with ") + what;
    auto refusal = trials->whyUnproven(text, promise, example);
    if (!refusal)
      return refusal.takeError();
    if (!refusal->empty()) {
      auto fault = trials->judgeGiven();
      if (!fault)
        return fault.takeError();
      return fault->empty() ? *refusal : example + " is not right by itself: " + *fault;
    }
    trial.passed(std::string("proven with ") + what);
  }
  return std::string();
}
