//===- FixDoubleLiterals.cpp - Give float expressions float literals -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   y[i] = x[i] * 0.5 + 1.0;      ==>      y[i] = x[i] * 0.5f + 1.0f;
//
// Owns finding the double expressions that would be float if their literals
// were: those rounded to float in the end, with no double of the user's inside,
// in a kernel and in the device functions that it calls.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;
using namespace clang;

namespace {

/// Functions that have a float overload of the same name in CUDA C++.
bool hasFloatForm(const FunctionDecl *function) {
  static constexpr llvm::StringLiteral names[] = {
      "abs",   "acos", "acosh", "asin",  "asinh",    "atan",     "atan2", "atanh", "cbrt",
      "ceil",  "cos",  "cosh",  "erf",   "erfc",     "exp",      "exp2",  "expm1", "fabs",
      "floor", "fma",  "fmax",  "fmin",  "fmod",     "hypot",    "log",   "log10", "log1p",
      "log2",  "max",  "min",   "pow",   "rint",     "round",    "rsqrt", "sin",   "sinh",
      "sqrt",  "tan",  "tanh",  "trunc", "copysign", "nearbyint"};
  return function->getIdentifier() && llvm::is_contained(names, function->getName()) &&
         function->getASTContext().getSourceManager().isInSystemHeader(function->getLocation());
}

bool isDouble(QualType type) { return type->isSpecificBuiltinType(BuiltinType::Double); }

/// What one double expression is made of.
struct Expression {
  std::vector<const FloatingLiteral *> literals;
  bool hasFloat = false;
  std::string obstacle; ///< why it must stay double

  void add(const Expr *expr, const PassContext &context) {
    expr = expr->IgnoreParens();
    if (!obstacle.empty())
      return;
    if (expr->getType()->isSpecificBuiltinType(BuiltinType::Float)) {
      hasFloat = true;
      return;
    }
    if (expr->getType()->isIntegralOrEnumerationType())
      return;
    if (const auto *literal = dyn_cast<FloatingLiteral>(expr)) {
      if (isDouble(literal->getType()))
        literals.push_back(literal);
      return;
    }
    if (const auto *cast = dyn_cast<ImplicitCastExpr>(expr)) {
      const Expr *from = cast->getSubExpr();
      if (cast->getCastKind() == CK_FloatingCast &&
          from->getType()->isSpecificBuiltinType(BuiltinType::Float)) {
        hasFloat = true;
        return;
      }
      if (cast->getCastKind() == CK_IntegralToFloating)
        return;
      return add(from, context);
    }
    if (const auto *binary = dyn_cast<BinaryOperator>(expr);
        binary && (binary->isAdditiveOp() || binary->isMultiplicativeOp())) {
      add(binary->getLHS(), context);
      return add(binary->getRHS(), context);
    }
    if (const auto *unary = dyn_cast<UnaryOperator>(expr);
        unary && (unary->getOpcode() == UO_Minus || unary->getOpcode() == UO_Plus))
      return add(unary->getSubExpr(), context);
    if (const auto *choice = dyn_cast<ConditionalOperator>(expr)) {
      add(choice->getTrueExpr(), context);
      return add(choice->getFalseExpr(), context);
    }
    if (const auto *call = dyn_cast<CallExpr>(expr))
      if (const FunctionDecl *callee = call->getDirectCallee(); callee && hasFloatForm(callee)) {
        for (const Expr *argument : call->arguments())
          add(argument, context);
        return;
      }
    obstacle = "'" + context.text(expr->getSourceRange()).str() + "' is a double itself";
  }
};

/// Where double expressions in \p body become something else: rounded to
/// float, or compared.
void collectRoots(const Stmt *body, std::vector<std::vector<const Expr *>> &roots) {
  ast::walk(body, [&](const Stmt *each) {
    if (const auto *cast = dyn_cast<CastExpr>(each)) {
      if (cast->getCastKind() == CK_FloatingCast &&
          cast->getType()->isSpecificBuiltinType(BuiltinType::Float) &&
          isDouble(cast->getSubExpr()->getType())) {
        roots.push_back({cast->getSubExpr()});
      }
    }
    if (const auto *test = dyn_cast<BinaryOperator>(each);
        test && test->isComparisonOp() && isDouble(test->getLHS()->getType())) {
      roots.push_back({test->getLHS(), test->getRHS()});
    }
    // x *= 0.5 with a float x computes in double and rounds.
    if (const auto *assign = dyn_cast<CompoundAssignOperator>(each);
        assign && assign->getLHS()->getType()->isSpecificBuiltinType(BuiltinType::Float) &&
        isDouble(assign->getComputationResultType())) {
      roots.push_back({assign->getRHS()});
      return true;
    }
    return true;
  });
}

/// Where \p literal stands: by itself, or as all that a macro without parameters expands to, but
/// for parentheses.
AnchorOrReason placeOf(const PassContext &context, const FloatingLiteral *literal,
                       const FunctionDecl *owner) {
  const SourceManager &sources = context.parsed().sources();
  if (!literal->getLocation().isMacroID())
    return anchorOf(context.parsed(), literal, owner);
  const Expr *whole = literal;
  for (;;) {
    const auto parents = context.parsed().context().getParents(*whole);
    const auto *parens = parents.size() == 1 ? parents[0].get<ParenExpr>() : nullptr;
    if (!parens || !parens->getBeginLoc().isMacroID())
      break;
    whole = parens;
  }
  const LangOptions &language = context.parsed().language();
  const CharSourceRange use = sources.getExpansionRange(literal->getLocation());
  if (use.getBegin() != use.getEnd() || // it has arguments
      !Lexer::isAtStartOfMacroExpansion(whole->getBeginLoc(), sources, language) ||
      !Lexer::isAtEndOfMacroExpansion(whole->getEndLoc(), sources, language))
    return AnchorOrReason::refuse("a literal comes from a macro");
  return anchorOfRange(context.parsed(), use.getAsRange(), owner, "FloatingLiteral");
}

struct Findings {
  std::vector<std::pair<const FloatingLiteral *, const FunctionDecl *>> literals;
  std::string obstacle;
};

void examine(const PassContext &context, const FunctionDecl *function, Findings &findings) {
  std::vector<std::vector<const Expr *>> roots;
  collectRoots(function->getBody(), roots);
  std::set<const FloatingLiteral *> seen;
  for (const std::vector<const Expr *> &root : roots) {
    Expression expression;
    for (const Expr *part : root)
      expression.add(part, context);
    bool concerns = false; // is there a double literal at all?
    for (const Expr *part : root)
      for (const auto *literal : ast::findAll<FloatingLiteral>(part))
        concerns |= isDouble(literal->getType());
    if (!concerns)
      continue;
    // i < 1e9 and k < n * 0.5 count: a rounded bound changes what runs.
    if (root.size() > 1 && !expression.hasFloat && expression.obstacle.empty())
      expression.obstacle = "'" + context.text(root.front()->getSourceRange()).str() +
                            "' is compared without any float";
    for (const FloatingLiteral *literal : expression.literals)
      if (AnchorOrReason place = placeOf(context, literal, function);
          expression.obstacle.empty() && !place)
        expression.obstacle = place.reason().str();
      else if (expression.obstacle.empty() && !llvm::APFloat(literal->getValue()).isInfinity()) {
        llvm::APFloat rounded = literal->getValue();
        bool loses = false;
        auto status = rounded.convert(llvm::APFloat::IEEEsingle(),
                                      llvm::APFloat::rmNearestTiesToEven, &loses);
        if (status & (llvm::APFloat::opOverflow | llvm::APFloat::opUnderflow))
          expression.obstacle = "'" + context.text(literal->getSourceRange()).str() +
                                "' is outside the range of float";
      }
    if (!expression.obstacle.empty()) {
      if (findings.obstacle.empty())
        findings.obstacle = expression.obstacle;
      continue;
    }
    for (const FloatingLiteral *literal : expression.literals)
      if (seen.insert(literal).second)
        findings.literals.push_back({literal, function});
  }
}

/// Why literals of a function that the kernel calls stay as they are; empty if it calls none that
/// has some.
std::string obstacleInCallees(const PassContext &context, const Site &site) {
  const SourceManager &sources = context.parsed().sources();
  const std::vector<const FunctionDecl *> own = ast::deviceFunctionsIn(context, *site.kernel);
  for (const FunctionDecl *function : own)
    for (const CallExpr *call : ast::findAll<CallExpr>(function->getBody())) {
      const FunctionDecl *callee = call->getDirectCallee();
      callee = callee ? callee->getDefinition() : nullptr;
      if (callee && !llvm::is_contained(own, callee) &&
          sources.isWrittenInMainFile(callee->getLocation()) &&
          llvm::any_of(ast::findAll<FloatingLiteral>(callee->getBody()),
                       [](const FloatingLiteral *each) { return isDouble(each->getType()); }))
        return "the double literals of '" + callee->getNameAsString() +
               "' are those of the host or of other instances as well";
    }
  return "";
}

Findings examine(const PassContext &context, const Site &site) {
  Findings findings;
  for (const FunctionDecl *function : ast::deviceFunctionsIn(context, *site.kernel))
    examine(context, function, findings);
  if (findings.literals.empty() && findings.obstacle.empty())
    findings.obstacle = obstacleInCallees(context, site);
  return findings;
}

class FixDoubleLiterals : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    return ast::kernelSites(kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    Findings findings = examine(context, site);
    if (!findings.literals.empty())
      return Decision::applies();
    if (!findings.obstacle.empty())
      return Decision::doesNotApply(findings.obstacle);
    return Decision::doesNotApply("no float expression has a double literal");
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    Findings findings = examine(context, site);
    Rewrite rewrite;
    for (const auto &[literal, function] : findings.literals) {
      AnchorOrReason anchor = placeOf(context, literal, function);
      if (!anchor)
        return decline(anchor.reason());
      const llvm::StringRef written = context.parsed().text().slice(anchor->begin, anchor->end);
      const bool isMacro = literal->getLocation().isMacroID();
      if (llvm::Error error = rewrite.edits.replaceAll(
              *anchor,
              isMacro ? ("static_cast<float>(" + written + ")").str() : (written + "f").str()))
        return std::move(error);
    }
    size_t count = findings.literals.size();
    rewrite.summary =
        "made " + std::to_string(count) + " double literal" + (count == 1 ? "" : "s") + " float";
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createFixDoubleLiterals() {
  return std::make_unique<FixDoubleLiterals>();
}
} // namespace kbopt
