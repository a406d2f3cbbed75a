//===- RecipePass.cpp - A pass whose rule is an example ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ExampleProgram.h"
#include "MatchFunctions.h"
#include "RenamedText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Recipe.h"
#include <mutex>

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

using Names = std::map<std::string, std::string>;

/// A kernel that an example's kernel stands for, and what becomes of it.
class Application {
public:
  Application(const PassContext &context, const KernelView &kernel, const ExampleProgram &example,
              const Bindings &bindings)
      : context(context), kernel(kernel), example(example), bindings(bindings) {}

  llvm::Expected<Rewrite> run() {
    nameDeclarations();
    if (llvm::Error error = replaceKernel())
      return std::move(error);
    for (const LaunchFact &launch : kernel.launches)
      if (llvm::Error error = replaceLaunch(launch))
        return std::move(error);
    return std::move(rewrite);
  }

private:
  /// Names of the example that the program has other ones for: its variables, and its declarations
  /// where theirs are taken.
  void nameDeclarations() {
    std::map<std::string, std::set<std::string>> all;
    for (const auto &[theirs, ours] : bindings)
      all[theirs->getNameAsString()].insert(ours->getNameAsString());
    for (const auto &[name, meanings] : all)
      if (meanings.size() == 1) // else it is the name of loops' variables
        names[name] = *meanings.begin();
    const std::string own = kernel.function()->getNameAsString();
    for (const auto &[name, text] : example.made)
      names[name] = name == example.kernel->getNameAsString() ? own : context.freshName(name);
    if (!names.count(example.launched)) // the kernel stays, launched otherwise
      names[example.launched] = own;
    keepApart();
  }

  /// Gives what the example declares inside its functions another name where the program has a
  /// variable of that name.
  void keepApart() {
    std::set<std::string> taken;
    for (const auto &[theirs, ours] : names)
      taken.insert(ours);
    for (const auto &[name, text] : example.made)
      for (const TextToken &token : tokensOf(text))
        if (token.isName && taken.count(token.text.str()))
          names.try_emplace(token.text.str(), context.freshName(token.text));
  }

  llvm::Error replaceKernel() {
    std::string text;
    for (const auto &[name, declaration] : example.made)
      text += (text.empty() ? "" : "\n\n") + renamed(declaration, names);
    AnchorOrReason anchor = anchorOf(context.parsed(), kernel.function());
    if (!anchor)
      return decline(anchor.reason());
    return rewrite.edits.replaceAll(*anchor, text);
  }

  /// The parameter of the kernel that stands for number \p index of the example's.
  unsigned parameterFor(size_t index) const {
    const auto *ours =
        llvm::cast<ParmVarDecl>(bindings.at(example.kernel->getParamDecl(unsigned(index))));
    return ours->getFunctionScopeIndex();
  }

  llvm::Error replaceLaunch(const LaunchFact &launch) {
    const std::string where = "the launch at " + ast::lineText(context, launch.call->getBeginLoc());
    if (launch.byApi || launch.instances > 1)
      return decline(where + " is no single launch by <<< >>>");
    if (launch.shared && !context.text(launch.shared->getSourceRange()).equals_insensitive("0"))
      return decline(where + " asks for shared memory");
    Names passed;
    for (auto [index, name] : llvm::enumerate(example.passed)) {
      const Expr *argument = launch.arguments[parameterFor(index)];
      const StringRef text = context.text(argument->getSourceRange());
      if (text.empty())
        return decline("an argument of " + where + " comes from a macro");
      const bool isSimple = ast::variableOf(argument) || llvm::isa<IntegerLiteral>(argument);
      if (!isSimple && argument->HasSideEffects(context.parsed().context()))
        return decline("an argument of " + where + " has side effects");
      passed[name] = isSimple ? text.str() : "(" + text.str() + ")";
    }
    std::string configuration = renamed(example.configuration, passed);
    if (launch.stream && !example.hasStream) {
      const StringRef stream = context.text(launch.stream->getSourceRange());
      configuration += (example.hasShared ? ", " : ", 0, ") + stream.str();
    }
    std::string arguments;
    for (const std::string &argument : example.arguments)
      arguments += (arguments.empty() ? "" : ", ") + renamed(argument, passed);
    AnchorOrReason anchor = anchorOfLaunch(context.parsed(), launch.call, launch.host);
    if (!anchor)
      return decline(where + " cannot be changed: " + anchor.reason());
    return rewrite.edits.replace(*anchor, context.parsed(), launch.call->getSourceRange(),
                                 names.at(example.launched) + "<<<" + configuration + ">>>(" +
                                     arguments + ")");
  }

  const PassContext &context;
  const KernelView &kernel;
  const ExampleProgram &example;
  const Bindings &bindings;
  Names names;
  Rewrite rewrite;
};

} // namespace

std::vector<Site> RecipePass::sites(const PassContext &, const KernelView &kernel) const {
  return ast::kernelSites(kernel);
}

llvm::Expected<Rewrite> RecipePass::rewrite(const PassContext &context, const Site &site,
                                            const PassOptions &) const {
  const KernelView &kernel = *site.kernel;
  const FunctionDecl *function = kernel.function()->getDefinition();
  if (!function || kernel.isInHeader() || function->isTemplated() || kernel.launches.empty())
    return decline("it is a template, lies in a header, or is not launched here");
  const std::string other = "it is another kernel than that of '" + info->name.str() + "'";
  // Most kernels are told apart without parsing anything.
  if (tokenCounts(context.text(function->getSourceRange())) !=
      tokenCounts(firstKernelIn(info->recipe->before)))
    return decline(other);
  llvm::Expected<const ExampleProgram &> example =
      exampleProgram(info->recipe->before, info->recipe->after, context.parsed().command());
  if (!example)
    return decline("'" + info->name + "' is no recipe: " + llvm::toString(example.takeError()));
  static std::mutex mutex; // the example's tree is shared, and read lazily
  std::lock_guard<std::mutex> lock(mutex);
  std::optional<Bindings> bindings = matchFunctions(example->kernel, function);
  if (!bindings)
    return decline(other);
  llvm::Expected<Rewrite> rewrite = Application(context, kernel, *example, *bindings).run();
  if (rewrite)
    rewrite->summary = "did to '" + kernel.name().str() + "' what the examples of '" +
                       info->name.str() + "' did to '" + example->kernel->getNameAsString() + "'";
  return rewrite;
}
