//===- ExampleLaunch.cpp - How a recipe's kernel is launched --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ExampleLaunch.h"
#include "RenamedText.h"
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

std::string kbopt::argumentName(size_t index) { return "kbArgument" + std::to_string(index); }

bool ChangedLaunch::operator==(const ChangedLaunch &other) const {
  auto isSame = [](const Part &a, const Part &b) {
    return a.isKept == b.isKept && tokenText(a.text) == tokenText(b.text);
  };
  return condition == other.condition && kernel == other.kernel && setup == other.setup &&
         isAsBefore == other.isAsBefore && isSame(grid, other.grid) && isSame(block, other.block) &&
         isSame(shared, other.shared) && isSame(stream, other.stream) &&
         arguments == other.arguments;
}

namespace {

/// Writes expressions of a host function so that they stand for themselves elsewhere.
class HostText {
public:
  /// \p kept are names of variables that stay as they are.
  HostText(const ParsedProgram &program, const FunctionDecl *host, std::set<std::string> kept)
      : program(program), host(host), kept(std::move(kept)) {}

  /// The text of \p expr with what its variables were initialised with, where they never change.
  std::string of(const Expr *expr, unsigned depth = 0) const {
    const SourceRange range = expr->getSourceRange();
    auto bytes = byteRange(program, range);
    if (!bytes)
      return "";
    std::string text;
    unsigned done = bytes->begin;
    auto put = [&](SourceRange place, const std::string &replacement) {
      auto at = byteRange(program, place);
      if (!at || at->begin < done)
        return;
      text += program.text().slice(done, at->begin);
      text += replacement;
      done = at->end;
    };
    for (const auto *reference : ast::findAll<DeclRefExpr>(expr)) {
      const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
      if (!variable || kept.count(variable->getNameAsString()) || depth > mostDepth)
        continue;
      if (std::string value = valueOf(variable, depth); !value.empty())
        put(reference->getSourceRange(), value);
    }
    return text + program.text().slice(done, bytes->end).str();
  }

private:
  static constexpr unsigned mostDepth = 8;

  /// What \p variable is initialised with, in parentheses; empty if it may change, or has nothing.
  std::string valueOf(const VarDecl *variable, unsigned depth) const {
    const bool isConstant = variable->isConstexpr() || variable->getType().isConstQualified();
    if (!variable->hasInit() || llvm::isa<ParmVarDecl>(variable) ||
        (!isConstant &&
         (!variable->isLocalVarDecl() || !host->getBody() || mayModify(host->getBody(), variable))))
      return "";
    const Expr *init = ast::strip(variable->getInit());
    if (const auto *made = llvm::dyn_cast<CXXConstructExpr>(init);
        made && made->getConstructor()->getParent()->getName() == "dim3") {
      std::string list;
      for (const Expr *argument : made->arguments())
        if (!llvm::isa<CXXDefaultArgExpr>(argument))
          list += (list.empty() ? "" : ", ") + of(argument, depth + 1);
      return "dim3(" + list + ")";
    }
    std::string text = of(init, depth + 1);
    return text.empty() || llvm::isa<IntegerLiteral>(init) ? text : "(" + text + ")";
  }

  const ParsedProgram &program;
  const FunctionDecl *host;
  std::set<std::string> kept;
};

/// Words that mean the same everywhere.
bool isKnownWord(StringRef word) {
  static const StringRef words[] = {
      "dim3",    "int",      "unsigned",  "size_t", "sizeof",  "float",       "double",
      "long",    "char",     "short",     "half",   "nullptr", "int64_t",     "uint32_t",
      "__half",  "bool",     "true",      "false",  "const",   "void",        "std",
      "float2",  "float4",   "int4",      "min",    "max",     "static_cast", "reinterpret_cast",
      "alignof", "uint64_t", "uintptr_t", "signed", "__int128"};
  return llvm::is_contained(words, word) || word.starts_with("cuda");
}

/// What a block may ask for without cudaFuncSetAttribute.
constexpr uint64_t mostShared = 48 << 10;

llvm::Error noRecipe(const llvm::Twine &why) { return llvm::createStringError(why.str()); }

} // namespace

llvm::Expected<ChangedLaunch> kbopt::changedLaunch(const ParsedProgram &program,
                                                   const LaunchFact &before,
                                                   const ParsedProgram &rewritten,
                                                   const LaunchWay &way,
                                                   const std::set<std::string> &made) {
  const LaunchFact &after = *way.launch;
  // Longer arguments first: one may be a part of another.
  std::vector<std::pair<std::string, std::string>> passed;
  std::set<std::string> kept = made;
  for (auto [index, argument] : llvm::enumerate(before.arguments)) {
    const std::string text = sourceText(program, argument->getSourceRange()).str();
    if (text.empty())
      return noRecipe("an argument of its launch in examples/before.cu comes from a macro");
    for (const auto *reference : ast::findAll<DeclRefExpr>(argument))
      kept.insert(reference->getDecl()->getNameAsString());
    if (!llvm::isa<IntegerLiteral, FloatingLiteral>(ast::strip(argument)))
      passed.emplace_back(text, argumentName(index));
  }
  llvm::stable_sort(passed, [](const auto &a, const auto &b) {
    return tokensOf(a.first).size() > tokensOf(b.first).size();
  });
  const HostText host(rewritten, after.host, kept);
  auto textOf = [&](const Expr *expr) -> llvm::Expected<std::string> {
    std::string text = host.of(expr);
    if (text.empty())
      return noRecipe("the launch of its examples/after.cu is written with a macro");
    for (const auto &[argument, name] : passed)
      text = replaceTokens(text, argument, name);
    bool isMember = false;
    for (const TextToken &token : tokensOf(text)) {
      const bool isKnown = !token.isName || isMember || isKnownWord(token.text) ||
                           made.count(token.text.str()) || token.text.starts_with("kbArgument");
      isMember = token.text == "." || token.text == "::";
      if (!isKnown)
        return noRecipe("the launch of its examples/after.cu uses '" + token.text +
                        "', which examples/before.cu does not pass to the kernel");
    }
    return text;
  };
  // The argument before that is the same as number \p place afterwards, a number too; of several
  // that of the parameter of the same name.
  auto passedAsWhole = [&](size_t place) -> std::optional<size_t> {
    auto nameIn = [](const LaunchFact &launch, size_t index) {
      return index < launch.kernel->getNumParams()
                 ? launch.kernel->getParamDecl(unsigned(index))->getName()
                 : StringRef();
    };
    const std::string text =
        tokenText(sourceText(rewritten, after.arguments[place]->getSourceRange()));
    std::optional<size_t> found;
    for (auto [index, each] : llvm::enumerate(before.arguments))
      if (tokenText(sourceText(program, each->getSourceRange())) == text &&
          (!found || nameIn(before, index) == nameIn(after, place)))
        found = index;
    return found;
  };
  if (Expr::EvalResult bytes; way.setup.empty() && after.shared &&
                              !after.shared->isValueDependent() &&
                              after.shared->EvaluateAsInt(bytes, after.host->getASTContext()) &&
                              bytes.Val.getInt().ugt(mostShared))
    return noRecipe("the launch of its examples/after.cu has " +
                    llvm::toString(bytes.Val.getInt(), 10) +
                    " bytes of dynamic shared memory; the host has to allow more than 49152 by "
                    "cudaFuncSetAttribute in the function that launches");
  ChangedLaunch launch;
  launch.kernel = after.kernel->getNameAsString();
  if (way.condition) {
    auto text = textOf(way.condition);
    if (!text)
      return text.takeError();
    launch.condition = std::move(*text);
  }
  auto textIn = [](const ParsedProgram &program, const LaunchFact &launch) {
    return tokenText(sourceText(program, launch.call->getSourceRange()));
  };
  launch.isAsBefore = launch.kernel == before.kernel->getNameAsString() && way.mayStay &&
                      textIn(program, before) == textIn(rewritten, after);
  if (launch.isAsBefore)
    return launch;
  for (const CallExpr *call : way.setup) {
    auto text = textOf(call);
    if (!text)
      return text.takeError();
    launch.setup.push_back(std::move(*text));
  }
  const bool isSameFunction = before.host->getNameAsString() == after.host->getNameAsString();
  for (auto [part, old, now] : {std::tuple(&launch.grid, before.grid, after.grid),
                                std::tuple(&launch.block, before.block, after.block),
                                std::tuple(&launch.shared, before.shared, after.shared),
                                std::tuple(&launch.stream, before.stream, after.stream)}) {
    if (!now)
      continue;
    const HostText given(program, before.host, kept);
    auto text = textOf(now);
    // What the rewritten kernel relies on is what its example says, and the program's own only
    // where that cannot be said elsewhere.
    part->isKept =
        !text && old && isSameFunction && tokenText(given.of(old)) == tokenText(host.of(now));
    if (part->isKept)
      llvm::consumeError(text.takeError());
    else if (!text)
      return text.takeError();
    else
      part->text = std::move(*text);
  }
  for (auto [place, argument] : llvm::enumerate(after.arguments)) {
    if (auto index = passedAsWhole(place)) {
      launch.arguments.push_back(argumentName(*index));
      continue;
    }
    auto text = textOf(argument);
    if (!text)
      return text.takeError();
    launch.arguments.push_back(std::move(*text));
  }
  return launch;
}
