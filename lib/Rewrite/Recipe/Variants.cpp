//===- Variants.cpp - Programs that a recipe is tried on ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RenamedText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/MakeRecipe.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

/// Replacements of parts of a text that do not overlap; the first of two that do counts.
class Replacements {
public:
  explicit Replacements(const ParsedProgram &program) : program(program) {}

  void add(SourceRange range, const std::string &text) {
    auto bytes = byteRange(program, range);
    if (!bytes)
      return;
    for (const auto &[begin, other] : all)
      if (begin < bytes->end && bytes->begin < other.first)
        return;
    all[bytes->begin] = {bytes->end, text};
  }
  bool empty() const { return all.empty(); }
  std::string apply() const {
    std::string result;
    unsigned done = 0;
    for (const auto &[begin, other] : all) {
      result += program.text().slice(done, begin);
      result += other.second;
      done = other.first;
    }
    return result + program.text().drop_front(done).str();
  }

private:
  const ParsedProgram &program;
  std::map<unsigned, std::pair<unsigned, std::string>> all; ///< begin, end and text
};

const FunctionDecl *kernelNamed(const ParsedProgram &program, StringRef name) {
  for (const KernelFact &each : findKernels(program))
    if (each.function->getNameAsString() == name)
      return each.function->getDefinition();
  return nullptr;
}

std::string textOf(const ParsedProgram &program, SourceRange range) {
  return sourceText(program, range).str();
}

/// The operator that reads the same with its operands exchanged; empty if there is none.
StringRef exchanged(BinaryOperatorKind kind) {
  switch (kind) {
  case BO_Add:
    return "+";
  case BO_Mul:
    return "*";
  case BO_LT:
    return ">";
  case BO_GT:
    return "<";
  case BO_LE:
    return ">=";
  case BO_GE:
    return "<=";
  default:
    return "";
  }
}

/// Operators without others in their operands, so that exchanged operands need no parentheses.
std::vector<const BinaryOperator *> innermost(const Stmt *body) {
  std::vector<const BinaryOperator *> found;
  for (const auto *each : ast::findAll<BinaryOperator>(body)) {
    const bool isInner = llvm::none_of(
        std::initializer_list<const Expr *>{each->getLHS(), each->getRHS()}, [](const Expr *part) {
          return !ast::findAll<BinaryOperator>(part).empty() ||
                 !ast::findAll<ConditionalOperator>(part).empty();
        });
    if (isInner)
      found.push_back(each);
  }
  return found;
}

/// \p text with \p name in other words wherever it is a whole word, comments included.
std::string replaceWord(StringRef text, StringRef name, StringRef other) {
  std::string result;
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at; (at = text.find(name)) != StringRef::npos;) {
    const bool isWord = (at == 0 || !isPart(text[at - 1])) &&
                        (at + name.size() == text.size() || !isPart(text[at + name.size()]));
    result += text.take_front(at).str() + (isWord ? other : name).str();
    text = text.drop_front(at + name.size());
  }
  return result + text.str();
}

/// What a function names, the extents of its arrays included.
class References : public DynamicRecursiveASTVisitor {
public:
  static std::vector<DeclRefExpr *> in(const FunctionDecl *function) {
    References references;
    references.TraverseStmt(function->getBody());
    return references.found;
  }
  bool VisitDeclRefExpr(DeclRefExpr *each) override {
    found.push_back(each);
    return true;
  }

private:
  std::vector<DeclRefExpr *> found;
};

/// Whether the order of parameters is said in one place: no other declaration, no other call.
bool mayReverse(const ParsedProgram &program, const FunctionDecl *kernel) {
  if (kernel->getNumParams() < 2 || kernel->getPreviousDecl())
    return false;
  const auto launches = findLaunches(program, usrOf(kernel));
  return !launches.empty() && llvm::all_of(launches, [&](const LaunchFact &launch) {
    return !launch.byApi && launch.arguments.size() == kernel->getNumParams() &&
           llvm::none_of(launch.arguments, [&](const Expr *argument) {
             return textOf(program, argument->getSourceRange()).empty();
           });
  });
}

} // namespace

std::string kbopt::renamedVariant(const ParsedProgram &program, StringRef kernel) {
  const FunctionDecl *function = kernelNamed(program, kernel);
  if (!function)
    return "";
  Replacements edits(program);
  // Operands are whole expressions: what is inside them is renamed with them.
  std::map<std::string, std::string> names;
  auto rename = [&](const VarDecl *variable) {
    const std::string name = variable->getNameAsString();
    if (!name.empty())
      names.try_emplace(name, "v" + std::to_string(names.size()) + "_" + name);
  };
  for (const ParmVarDecl *each : function->parameters())
    rename(each);
  for (const auto *each : ast::findAll<DeclStmt>(function->getBody()))
    for (const Decl *declared : each->decls())
      if (const auto *variable = llvm::dyn_cast<VarDecl>(declared))
        rename(variable);
  auto written = [&](SourceRange range) { return renamed(textOf(program, range), names); };
  for (const BinaryOperator *each : innermost(function->getBody()))
    if (StringRef mark = exchanged(each->getOpcode()); !mark.empty())
      edits.add(each->getSourceRange(), written(each->getRHS()->getSourceRange()) + " " +
                                            mark.str() + " " +
                                            written(each->getLHS()->getSourceRange()));
  for (const DeclRefExpr *each : References::in(function))
    if (auto name = names.find(each->getDecl()->getNameAsString());
        name != names.end() && llvm::isa<VarDecl>(each->getDecl()))
      edits.add(each->getSourceRange(), name->second);
  for (const auto *each : ast::findAll<DeclStmt>(function->getBody()))
    for (const Decl *declared : each->decls())
      if (const auto *variable = llvm::dyn_cast<VarDecl>(declared))
        edits.add(variable->getLocation(), names[variable->getNameAsString()]);
  const bool isReversed = mayReverse(program, function);
  for (unsigned i = 0, count = function->getNumParams(); i != count; ++i) {
    const ParmVarDecl *place = function->getParamDecl(i);
    const ParmVarDecl *shown = function->getParamDecl(isReversed ? count - 1 - i : i);
    edits.add(place->getSourceRange(), written(shown->getSourceRange()));
  }
  if (isReversed)
    for (const LaunchFact &launch : findLaunches(program, usrOf(function)))
      for (size_t i = 0, count = launch.arguments.size(); i != count; ++i)
        edits.add(launch.arguments[i]->getSourceRange(),
                  textOf(program, launch.arguments[count - 1 - i]->getSourceRange()));
  return replaceWord(edits.apply(), kernel, ("other_" + kernel).str());
}

//===-- Sizes -------------------------------------------------------------===//

/// Three quarters of sizes from this on: constants of a program, and those of a workload.
static constexpr int64_t leastSize = 64, leastWorkloadSize = 8;
static int64_t smaller(int64_t size) { return size - size / 4; }

/// The sizes of a workload in a comment: numbers of lines with "sizes:".
static std::string withSmallerWorkload(StringRef text) {
  std::string result;
  llvm::Regex number("^([^0-9]*)([0-9]+)");
  while (!text.empty()) {
    StringRef line = text.take_until([](char c) { return c == '\n'; });
    text = text.drop_front(std::min(text.size(), line.size() + 1));
    const bool isSizes = line.contains(" sizes:") || line.contains("-sizes:");
    llvm::SmallVector<StringRef> parts;
    while (isSizes && number.match(line, &parts)) {
      int64_t value = 0;
      parts[2].getAsInteger(10, value);
      result +=
          parts[1].str() + std::to_string(value >= leastWorkloadSize ? smaller(value) : value);
      line = line.drop_front(parts[0].size());
    }
    result += line.str() + "\n";
  }
  return result;
}

std::string kbopt::reshapedVariant(const ParsedProgram &program, StringRef kernel) {
  const FunctionDecl *function = kernelNamed(program, kernel);
  if (!function)
    return "";
  std::set<const VarDecl *> left; ///< what blocks have, and what the kernel uses
  for (const auto *each : ast::findAll<DeclRefExpr>(function->getBody()))
    if (const auto *variable = llvm::dyn_cast<VarDecl>(each->getDecl()))
      left.insert(variable);
  for (const LaunchFact &launch : findLaunches(program))
    for (const auto *each : ast::findAll<DeclRefExpr>(launch.block))
      if (const auto *variable = llvm::dyn_cast<VarDecl>(each->getDecl()))
        left.insert(variable);
  Replacements edits(program);
  auto take = [&](const VarDecl *variable) {
    const Expr *init = variable->getInit();
    if (!init || left.count(variable) || !variable->getType()->isIntegerType() ||
        !ast::findAll<DeclRefExpr>(init).empty() || !ast::findAll<CallExpr>(init).empty())
      return;
    std::optional<int64_t> value = ast::constantOf(init, program.context());
    if (value && *value >= leastSize)
      edits.add(init->getSourceRange(), std::to_string(smaller(*value)));
  };
  for (const Decl *each : program.declarations()) {
    if (!program.sources().isInMainFile(each->getLocation()))
      continue;
    if (const auto *variable = llvm::dyn_cast<VarDecl>(each))
      take(variable);
    const FunctionDecl *host = each->getAsFunction();
    if (!host || !host->getBody() || host->hasAttr<CUDAGlobalAttr>() ||
        host->hasAttr<CUDADeviceAttr>())
      continue;
    for (const auto *declared : ast::findAll<DeclStmt>(host->getBody()))
      for (const Decl *local : declared->decls())
        if (const auto *variable = llvm::dyn_cast<VarDecl>(local))
          take(variable);
  }
  const std::string changed = withSmallerWorkload(edits.apply());
  return StringRef(changed).trim() == program.text().trim() ? "" : changed;
}

//===-- Other values --------------------------------------------------------===//

std::string kbopt::openedVariant(const ParsedProgram &program, StringRef kernel,
                                 llvm::ArrayRef<std::string> open) {
  const FunctionDecl *function = kernelNamed(program, kernel);
  auto bytes = function ? byteRange(program, function->getBody()->getSourceRange()) : std::nullopt;
  if (!bytes)
    return "";
  std::string body = program.text().slice(bytes->begin, bytes->end).str();
  // Names first: an expression may hold a shorter one.
  for (auto [number, each] : llvm::enumerate(open))
    body = replaceOpen(body, each, "kbOpen" + std::to_string(number));
  for (auto [number, each] : llvm::enumerate(open))
    body = replaceTokens(body, "kbOpen" + std::to_string(number),
                         ("((" + openPart(each) + ") * 0.75f + 0.5f)").str());
  return (program.text().take_front(bytes->begin) + body + program.text().drop_front(bytes->end))
      .str();
}

//===-- Kernels that do something else ------------------------------------===//

std::vector<std::string> kbopt::otherKernels(const ParsedProgram &program, StringRef kernel,
                                             llvm::ArrayRef<StringRef> open, size_t most) {
  std::vector<std::string> programs;
  const FunctionDecl *function = kernelNamed(program, kernel);
  if (!function)
    return programs;
  std::set<std::string> opened;
  for (StringRef each : open)
    opened.insert(tokenText(each));
  auto add = [&](SourceRange range, const std::string &text) {
    Replacements edits(program);
    edits.add(range, text);
    if (!edits.empty() && programs.size() < most)
      programs.push_back(edits.apply());
  };
  ast::walk(function->getBody(), [&](const Stmt *each) {
    const auto *expr = llvm::dyn_cast<Expr>(each);
    if (expr && opened.count(tokenText(textOf(program, expr->getSourceRange()))))
      return false; // any other may stand there
    if (const auto *literal = llvm::dyn_cast<IntegerLiteral>(each))
      add(literal->getSourceRange(), llvm::toString(literal->getValue() + 1, 10, /*Signed=*/false));
    if (const auto *binary = llvm::dyn_cast<BinaryOperator>(each)) {
      const StringRef other = binary->getOpcode() == BO_Add         ? "-"
                              : binary->getOpcode() == BO_LT        ? "<="
                              : binary->getOpcode() == BO_AddAssign ? "-="
                                                                    : "";
      if (!other.empty())
        add(binary->getOperatorLoc(), other.str());
    }
    return true;
  });
  return programs;
}
