//===- MakeRecipe.cpp - From a proven rewrite to a pass -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Rewrite/MakeRecipe.h"
#include "ExampleProgram.h"
#include "RenamedText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Recipe.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

/// The expressions of a function by their tokens.
class Expressions {
public:
  Expressions(const ParsedProgram &program, const FunctionDecl *function) : program(program) {
    if (!function || !function->getBody())
      return;
    text = sourceText(program, function->getSourceRange()).str();
    std::set<const Expr *> seen;
    for (const Expr *each : ast::findAll<Expr>(function->getBody()))
      if (const Expr *bare = ast::strip(each); seen.insert(bare).second)
        ++counts[textOf(bare)];
    for (const auto *each : ast::findAll<BinaryOperator>(function->getBody()))
      if (each->isAssignmentOp())
        written.insert(textOf(each->getLHS()));
    for (const auto *each : ast::findAll<UnaryOperator>(function->getBody()))
      if (each->isIncrementDecrementOp() || each->getOpcode() == UO_AddrOf)
        written.insert(textOf(each->getSubExpr()));
  }

  std::string textOf(const Expr *expr) const {
    return tokenText(sourceText(program, expr->getSourceRange()));
  }
  /// Whether all places of \p tokens are whole expressions, which nothing writes to, and there is
  /// one.
  bool has(const std::string &tokens) const { return isWhole(tokens) && !written.count(tokens); }
  /// The same of an assignment.
  bool isWhole(const std::string &tokens) const {
    auto found = counts.find(tokens);
    return found != counts.end() && found->second == findTokens(text, tokens).size();
  }
  /// Whether \p name is used outside the places of \p open.
  bool usesOutside(const std::string &name, llvm::ArrayRef<std::string> open) const {
    std::string rest = text.substr(text.find('{'));
    for (const std::string &each : open)
      rest = replaceOpen(rest, each, "");
    return !findTokens(rest, name).empty();
  }

private:
  const ParsedProgram &program;
  std::string text;
  std::map<std::string, size_t> counts;
  std::set<std::string> written;
};

/// Collects what may be open.
class OpenFinder {
public:
  OpenFinder(const ExampleProgram &example, llvm::ArrayRef<std::string> closed)
      : example(example), before(*example.before, example.kernel),
        after(*example.after, launchedFunction(example)) {
    for (const std::string &each : closed)
      this->closed.insert(tokenText(openPart(each)));
  }

  /// What may be open. A parameter that is used elsewhere afterwards must be bound by more than
  /// open expressions: the shortest one that names it stays closed then.
  std::vector<std::string> run() {
    std::vector<std::string> found = find();
    while (std::optional<std::string> name = unbound(found)) {
      auto shortest = llvm::find_if(llvm::reverse(found), [&](const std::string &each) {
        return !findTokens(each, *name).empty();
      });
      closed.insert(tokenText(openPart(*shortest)));
      found = find();
    }
    return found;
  }

  static const FunctionDecl *launchedFunction(const ExampleProgram &example) {
    for (const KernelFact &each : findKernels(*example.after))
      if (each.function->getNameAsString() == example.launched)
        return each.function->getDefinition();
    return nullptr;
  }

private:
  /// A parameter that \p found alone uses before, and that is used elsewhere afterwards.
  std::optional<std::string> unbound(llvm::ArrayRef<std::string> found) const {
    for (const ParmVarDecl *parameter : example.kernel->parameters()) {
      std::string name = parameter->getNameAsString();
      const bool isOpen = llvm::any_of(
          found, [&](const std::string &each) { return !findTokens(each, name).empty(); });
      if (isOpen && !before.usesOutside(name, found) && after.usesOutside(name, found))
        return name;
    }
    return std::nullopt;
  }

  std::vector<std::string> find() {
    open.clear();
    ast::walk(example.kernel->getBody(), [&](const Stmt *each) {
      if (const auto *expr = llvm::dyn_cast<Expr>(each); expr && isOpen(before.textOf(expr)))
        return false;
      if (const auto *binary = llvm::dyn_cast<BinaryOperator>(each);
          binary && binary->isAssignmentOp())
        takeAssigned(binary);
      else if (const auto *declared = llvm::dyn_cast<DeclStmt>(each))
        takeDeclared(declared);
      else if (const auto *call = llvm::dyn_cast<CallExpr>(each))
        for (const Expr *argument : call->arguments())
          take(argument, nullptr);
      return true;
    });
    llvm::stable_sort(open, [](const std::string &a, const std::string &b) {
      return tokensOf(a).size() > tokensOf(b).size();
    });
    return std::move(open);
  }

  bool isOpen(const std::string &tokens) const {
    return llvm::any_of(open, [&](const std::string &each) { return tokenText(each) == tokens; });
  }

  /// Opens what \p assignment stores, or the right side of a store that stands so in both.
  void takeAssigned(const BinaryOperator *assignment) {
    const size_t known = open.size();
    take(assignment->getRHS(), ast::variableOf(assignment->getLHS()));
    const std::string text = before.textOf(assignment);
    const bool isStore = assignment->getOpcode() == BO_Assign &&
                         llvm::isa<ArraySubscriptExpr>(ast::strip(assignment->getLHS()));
    const Expr *value = ast::strip(assignment->getRHS());
    if (open.size() != known || !isStore || !llvm::isa<DeclRefExpr>(value) ||
        closed.count(before.textOf(value)) || !before.isWhole(text) || !after.isWhole(text) ||
        !isOnlyInLaunched(text))
      return;
    open.push_back(sourceText(*example.before, assignment->getSourceRange()).str());
  }

  void takeDeclared(const DeclStmt *declared) {
    for (const Decl *each : declared->decls())
      if (const auto *variable = llvm::dyn_cast<VarDecl>(each); variable && variable->getInit())
        take(variable->getInit(), variable);
  }

  /// Opens \p expr, which \p target receives, or parts of it.
  void take(const Expr *expr, const VarDecl *target) {
    expr = ast::strip(expr);
    const std::string text = before.textOf(expr);
    if (isOpen(text))
      return;
    if (computesValue(expr) && !closed.count(text) && !(target && ast::mentions(expr, target)) &&
        before.has(text) && after.has(text) && isOnlyInLaunched(text)) {
      open.push_back(sourceText(*example.before, expr->getSourceRange()).str());
      return;
    }
    // An index is structure: another one would be another kernel.
    if (llvm::isa<ArraySubscriptExpr>(expr))
      return;
    for (const Stmt *child : expr->children())
      if (const auto *operand = llvm::dyn_cast_or_null<Expr>(child))
        take(operand, target);
  }

  static bool computesValue(const Expr *expr) {
    if (llvm::isa<DeclRefExpr, IntegerLiteral, CXXBoolLiteralExpr>(expr))
      return false;
    if (const auto *number = llvm::dyn_cast<FloatingLiteral>(expr)) {
      const double value = number->getValueAsApproximateDouble();
      return value != 0 && value != 1;
    }
    if (!expr->getType()->isRealFloatingType()) // numbers that index, count and bound are structure
      return false;
    bool isPlain = true;
    ast::walk(expr, [&](const Stmt *each) {
      if (const auto *part = llvm::dyn_cast<Expr>(each))
        isPlain = isPlain && !ast::gridRefOf(part);
      if (const auto *unary = llvm::dyn_cast<UnaryOperator>(each))
        isPlain = isPlain && !unary->isIncrementDecrementOp() && unary->getOpcode() != UO_AddrOf;
      if (const auto *call = llvm::dyn_cast<CallExpr>(each)) {
        const FunctionDecl *callee = call->getDirectCallee();
        const std::string name = callee ? callee->getNameAsString() : "__";
        isPlain =
            isPlain && !StringRef(name).starts_with("__") && !StringRef(name).starts_with("atomic");
      }
      return isPlain;
    });
    return isPlain;
  }

  /// Whether no function that the recipe makes but the launched kernel has \p text.
  bool isOnlyInLaunched(const std::string &text) const {
    return llvm::none_of(example.made, [&](const Definition &each) {
      return each.name != example.launched && !findTokens(each.text, text).empty();
    });
  }

  const ExampleProgram &example;
  const Expressions before, after;
  std::vector<std::string> open;
  std::set<std::string> closed; ///< tokens of expressions that are not open
};

} // namespace

llvm::Expected<RecipeDraft> kbopt::draftRecipe(StringRef before, StringRef after,
                                               const CompileCommand &command,
                                               llvm::ArrayRef<std::string> closed) {
  RecipeForm form{before, after};
  llvm::Expected<const ExampleProgram &> example = exampleProgram(form, command);
  if (!example)
    return example.takeError();
  RecipeDraft draft;
  draft.kernel = example->kernel->getNameAsString();
  draft.open = OpenFinder(*example, closed).run();
  constexpr unsigned least = 2, most = 1024;
  for (const Definition &each : example->made) {
    const auto *variable = llvm::dyn_cast<VarDecl>(each.declaration);
    if (!variable || !variable->isConstexpr() || !variable->getType()->isIntegerType())
      continue;
    const auto *literal = llvm::dyn_cast<IntegerLiteral>(ast::strip(variable->getInit()));
    if (literal && literal->getValue().isPowerOf2() && literal->getValue().uge(least) &&
        literal->getValue().ule(most))
      draft.parameters.emplace_back(each.name, unsigned(literal->getValue().getZExtValue()));
  }
  return draft;
}

/// \p text as a scalar of YAML on one line.
static std::string quoted(StringRef text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string kbopt::recipeYaml(const RecipeDraft &draft, const RecipeWords &words) {
  constexpr unsigned most = 1024;
  std::string yaml = "name: " + words.name +
                     "\nfamily: structure\nsummary: " + quoted(words.summary) +
                     "\ndescription: |\n";
  llvm::SmallVector<StringRef> lines;
  StringRef(words.description).trim().split(lines, '\n');
  for (StringRef line : lines)
    yaml += "  " + line.str() + "\n";
  yaml += "states: [" + llvm::join(words.states, ", ") +
          "]\nsite: kernel\npromise: " + promiseName(words.promise).str() + "\nrule: example\n";
  if (!draft.open.empty())
    yaml += "open:\n";
  for (const std::string &each : draft.open)
    yaml += "  - " + quoted(each) + "\n";
  if (!draft.parameters.empty())
    yaml += "parameters:\n";
  for (const auto &[name, value] : draft.parameters) {
    std::vector<std::string> values;
    for (unsigned each : {value / 2, value, value * 2})
      if (each && each <= most)
        values.push_back(std::to_string(each));
    yaml += "  - {name: " + name +
            ", summary: 'constant of examples/after.cu', default: " + std::to_string(value) +
            ", values: [" + llvm::join(values, ", ") + "]}\n";
  }
  return yaml;
}

llvm::Expected<std::string> kbopt::kernelLike(const RecipeForm &recipe,
                                              const ParsedProgram &program) {
  llvm::Expected<const ExampleProgram &> example = exampleProgram(recipe, program.command());
  if (!example)
    return example.takeError();
  for (const KernelFact &each : findKernels(program))
    if (const FunctionDecl *function = each.function->getDefinition();
        function && !function->isTemplated() &&
        matchFunctions(example->kernel, function, example->open) &&
        !(example->keepsKernel &&
          llvm::all_of(findLaunches(program, each.usr),
                       [&](const auto &launch) { return isOtherWay(program, launch); })))
      return each.name;
  return std::string();
}
