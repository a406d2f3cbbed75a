//===- Application.cpp - A recipe where it applies ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Application.h"
#include "RenamedText.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

using Names = std::map<std::string, std::string>;

class Application {
public:
  Application(const PassContext &context, const KernelView &kernel, const ExampleProgram &example,
              const FunctionMatch &match, const PassOptions &options)
      : context(context), kernel(kernel), example(example), match(match), options(options) {}

  llvm::Expected<Rewrite> run() {
    nameDeclarations();
    chooseParameters();
    if (llvm::Error error = replaceKernel())
      return std::move(error);
    bool isReplaced = false;
    for (const LaunchFact &launch : kernel.launches) {
      if (example.keepsKernel && isOtherWay(context.parsed(), launch))
        continue;
      if (llvm::Error error = replaceLaunch(launch))
        return std::move(error);
      isReplaced = true;
    }
    if (!isReplaced)
      return decline("'" + kernel.name() + "' is launched only where another kernel cannot");
    if (llvm::Error error = addIncludes())
      return std::move(error);
    return std::move(rewrite);
  }

private:
  //===-- Names ---------------------------------------------------------===//

  /// Names of the example that the program has other ones for: its variables, and its declarations
  /// where theirs are taken.
  void nameDeclarations() {
    std::map<std::string, std::set<std::string>> all;
    for (const auto &[theirs, ours] : match.bindings)
      all[theirs->getNameAsString()].insert(ours->getNameAsString());
    for (const auto &[name, meanings] : all)
      if (meanings.size() == 1) // else it is the name of loops' variables
        names[name] = *meanings.begin();
    const std::string own = kernel.function()->getNameAsString();
    for (const Definition &each : example.made)
      if (!each.name.empty()) // an unnamed namespace
        names[each.name] =
            each.name == example.kernel->getNameAsString() ? own : context.freshName(each.name);
    names.try_emplace(example.kernel->getNameAsString(), own); // it stays, launched otherwise
    for (const auto &[number, expr] : match.open)
      opened[openName(number)] = textOf(expr);
    keepApart();
  }

  /// The text of what stands for an open expression, with the names that its variables get.
  std::string textOf(const Expr *expr) const {
    Names own;
    for (const auto *reference : ast::findAll<DeclRefExpr>(expr))
      for (const auto &[theirs, ours] : match.bindings)
        if (ours == reference->getDecl())
          if (auto name = names.find(theirs->getNameAsString()); name == names.end())
            own[ours->getNameAsString()] = theirs->getNameAsString();
    return renamed(context.text(expr->getSourceRange()), own);
  }

  /// Gives what the example declares inside its functions another name where the program has a
  /// variable of that name.
  void keepApart() {
    std::set<std::string> taken;
    for (const auto &[theirs, ours] : names)
      taken.insert(ours);
    for (const ParmVarDecl *parameter : match.extra)
      taken.insert(parameter->getNameAsString());
    for (const auto &[number, expr] : match.open)
      for (const auto *reference : ast::findAll<DeclRefExpr>(expr))
        if (llvm::isa<VarDecl>(reference->getDecl()))
          taken.insert(reference->getDecl()->getNameAsString());
    for (const Definition &each : example.made)
      for (const TextToken &token : tokensOf(each.text))
        if (token.isName && taken.count(token.text.str()))
          names.try_emplace(token.text.str(), context.freshName(token.text));
  }

  //===-- Parameters ----------------------------------------------------===//

  /// The example's parameter that argument \p text passes on; none if it is something else.
  const ParmVarDecl *passedOn(StringRef text) const {
    for (unsigned i = 0; i != example.kernel->getNumParams(); ++i)
      if (text == argumentName(i))
        return example.kernel->getParamDecl(i);
    return nullptr;
  }

  /// Whether \p argument of the example's launch is none in the program: open expressions alone
  /// had used it.
  bool isLeftOut(StringRef argument) const {
    const ParmVarDecl *theirs = passedOn(argument);
    return theirs && !match.bindings.count(theirs) && !example.parameters.empty();
  }

  /// What the new kernel is given: the example's parameters but for those that are left out, and
  /// those that the program's open expressions use.
  void chooseParameters() {
    if (example.parameters.empty())
      return;
    std::string list;
    auto add = [&](const std::string &text) { list += (list.empty() ? "" : ", ") + text; };
    auto launched = llvm::find_if(example.ways, [&](const ChangedLaunch &way) {
      return !way.isAsBefore && way.kernel == example.launched;
    });
    for (auto [argument, parameter] : llvm::zip(launched->arguments, example.parameters))
      if (!isLeftOut(argument))
        add(renamed(parameter, names));
    for (const ParmVarDecl *parameter : match.extra)
      add(context.text(parameter->getSourceRange()).str());
    parameters = list;
  }

  //===-- Edits ---------------------------------------------------------===//

  /// \p text as it stands in the program.
  std::string inProgram(StringRef text) const {
    Names all = names;
    all[ExampleProgram::parametersName.str()] = parameters;
    for (const auto &[name, open] : opened)
      all[name] = "(" + open + ")";
    return withoutDoubled(renamed(text, all));
  }

  /// \p text without parentheses around what stands alone on the right of an assignment.
  std::string withoutDoubled(std::string text) const {
    for (const auto &[name, open] : opened)
      for (StringRef left : {"= ", "return "})
        for (size_t at; (at = text.find((left + "(" + open + ");").str())) != std::string::npos;)
          text.replace(at, left.size() + open.size() + 3, (left + open + ";").str());
    return text;
  }

  llvm::Error replaceKernel() {
    if (example.made.empty())
      return llvm::Error::success();
    std::string text;
    for (const Definition &each : example.made)
      text += (text.empty() ? "" : "\n\n") + inProgram(withOption(each));
    AnchorOrReason anchor = anchorOf(context.parsed(), kernel.function());
    if (!anchor)
      return decline(anchor.reason());
    return example.keepsKernel ? rewrite.edits.insertAfter(*anchor, "\n\n" + text)
                               : rewrite.edits.replaceAll(*anchor, text);
  }

  /// The declaration, a constant with the value that the options give it.
  std::string withOption(const Definition &made) const {
    for (const auto &[name, value] : options.all())
      if (const auto *variable = llvm::dyn_cast<VarDecl>(made.declaration);
          variable && name == made.name && variable->getInit()) {
        const std::string init =
            sourceText(*example.after, variable->getInit()->getSourceRange()).str();
        return StringRef(made.text).drop_back(init.size() + 1).str() + value + ";";
      }
    return made.text;
  }

  llvm::Error addIncludes() {
    std::string lines;
    for (const std::string &line : example.includes)
      if (!context.parsed().text().contains(line))
        lines += line + "\n";
    if (lines.empty())
      return llvm::Error::success();
    AnchorOrReason anchor = anchorAfterIncludes(context.parsed());
    if (!anchor)
      return decline(anchor.reason());
    return rewrite.edits.insertBefore(*anchor, lines);
  }

  /// What \p launch passes for each of the example's parameters. An unbound one has no text.
  llvm::Expected<Names> passedBy(const LaunchFact &launch, const std::string &where) const {
    Names passed;
    for (unsigned i = 0; i != example.kernel->getNumParams(); ++i) {
      auto bound = match.bindings.find(example.kernel->getParamDecl(i));
      if (bound == match.bindings.end())
        continue;
      const unsigned index = llvm::cast<ParmVarDecl>(bound->second)->getFunctionScopeIndex();
      if (index >= launch.arguments.size())
        return decline(where + " leaves arguments out");
      const Expr *argument = launch.arguments[index];
      const StringRef text = context.text(argument->getSourceRange());
      if (text.empty())
        return decline("an argument of " + where + " comes from a macro");
      const bool isSimple =
          ast::variableOf(argument) ||
          llvm::isa<IntegerLiteral, FloatingLiteral, CXXBoolLiteralExpr>(ast::strip(argument));
      if (!isSimple && argument->HasSideEffects(context.parsed().context()))
        return decline("an argument of " + where + " has side effects");
      passed[argumentName(i)] = isSimple ? text.str() : "(" + text.str() + ")";
    }
    return passed;
  }

  /// The configuration of \p way, for \p launch; \p written gives a text its names there.
  std::string configurationOf(const ChangedLaunch &way, const LaunchFact &launch,
                              llvm::function_ref<std::string(StringRef)> written) const {
    auto part = [&](const ChangedLaunch::Part &change, const Expr *old) -> std::string {
      if (change.isKept || (change.text.empty() && old))
        return old ? context.text(old->getSourceRange()).str() : "";
      return written(change.text);
    };
    const std::string stream = part(way.stream, launch.stream),
                      shared = part(way.shared, launch.shared);
    std::string text = part(way.grid, launch.grid) + ", " + part(way.block, launch.block);
    if (!shared.empty() || !stream.empty())
      text += ", " + (shared.empty() ? "0" : shared);
    if (!stream.empty())
      text += ", " + stream;
    return text;
  }

  /// \p way in place of \p launch, without a semicolon.
  std::string wayText(const ChangedLaunch &way, const LaunchFact &launch,
                      llvm::function_ref<std::string(StringRef)> written) const {
    if (way.isAsBefore)
      return context.text(launch.call->getSourceRange()).str();
    std::string list;
    auto add = [&](const std::string &text) { list += (list.empty() ? "" : ", ") + text; };
    const bool isFirst = way.kernel == example.launched;
    for (const std::string &argument : way.arguments)
      if (!isFirst || !isLeftOut(argument))
        add(written(argument));
    if (isFirst && !example.parameters.empty())
      for (const ParmVarDecl *parameter : match.extra)
        add(context.text(launch.arguments[parameter->getFunctionScopeIndex()]->getSourceRange())
                .str());
    std::string text;
    for (const std::string &call : way.setup)
      text += written(call) + ";\n";
    return text + names.at(way.kernel) + "<<<" + configurationOf(way, launch, written) + ">>>(" +
           list + ")";
  }

  llvm::Error replaceLaunch(const LaunchFact &launch) {
    const std::string where = "the launch at " + ast::lineText(context, launch.call->getBeginLoc());
    if (launch.byApi || launch.instances > 1)
      return decline(where + " is no single launch by <<< >>>");
    if (launch.shared &&
        llvm::any_of(example.ways,
                     [](const auto &way) { return !way.isAsBefore && !way.shared.isKept; }) &&
        !context.text(launch.shared->getSourceRange()).equals_insensitive("0"))
      return decline(where + " asks for shared memory");
    auto passed = passedBy(launch, where);
    if (!passed)
      return passed.takeError();
    Names all = names;
    for (const auto &[name, text] : *passed)
      all[name] = text;
    // Names of the host are the program's own: only what the recipe makes is renamed there.
    auto written = [&](StringRef text) { return renamed(text, all); };
    AnchorOrReason anchor = anchorOfLaunch(context.parsed(), launch.call, launch.host);
    if (!anchor)
      return decline(where + " cannot be changed: " + anchor.reason());
    std::string text;
    for (const ChangedLaunch &way : example.ways) {
      text += text.empty() ? "" : " else ";
      if (!way.condition.empty())
        text += "if (" + written(way.condition) + ") ";
      const std::string launched = wayText(way, launch, written);
      text += example.ways.size() == 1 ? launched : "{\n" + launched + ";\n}";
    }
    if (text.find("kbArgument") != std::string::npos)
      return decline(where + " passes nothing for a parameter that the recipe tests");
    if (example.ways.size() == 1 && example.ways.front().setup.empty())
      return rewrite.edits.replace(*anchor, context.parsed(), launch.call->getSourceRange(), text);
    // Several statements in place of one.
    const StringRef given = context.parsed().text().slice(anchor->begin, anchor->end),
                    call = context.text(launch.call->getSourceRange());
    if (!given.starts_with(call) || given.drop_front(call.size()).trim() != ";")
      return decline(where + " is a part of a statement");
    if (example.ways.size() == 1)
      text += ";";
    return rewrite.edits.replaceAll(
        *anchor, standsInList(context.parsed(), launch) ? text : "{\n" + text + "\n}");
  }

  const PassContext &context;
  const KernelView &kernel;
  const ExampleProgram &example;
  const FunctionMatch &match;
  const PassOptions &options;
  Names names;
  Names opened;           ///< by `openName` what stands there
  std::string parameters; ///< of the new kernel
  Rewrite rewrite;
};

} // namespace

llvm::Expected<Rewrite> kbopt::applyExample(const PassContext &context, const KernelView &kernel,
                                            const ExampleProgram &example,
                                            const FunctionMatch &match,
                                            const PassOptions &options) {
  return Application(context, kernel, example, match, options).run();
}
