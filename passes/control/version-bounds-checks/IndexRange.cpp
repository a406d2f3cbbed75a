//===- IndexRange.cpp - The indices that a block can form -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "IndexRange.h"

using namespace kbopt;
using namespace kbopt::bounds;
using namespace clang;

std::string Sum::text(int64_t more) const {
  std::string out;
  for (const std::string &term : terms) {
    llvm::StringRef rest(term);
    bool minus = rest.consume_front("- ");
    rest.consume_front("+ ");
    llvm::StringRef bare = rest;
    if (out.empty() && bare.consume_front("(") && bare.consume_back(")"))
      rest = bare;
    if (out.empty())
      out = (minus ? "-" : "") + ("static_cast<long long>(" + rest + ")").str();
    else
      out += " " + term;
  }
  int64_t value = constant + more;
  if (out.empty())
    return std::to_string(value);
  return out + (value > 0   ? " + " + std::to_string(value)
                : value < 0 ? " - " + std::to_string(-value)
                            : "");
}

namespace {

Sum added(const Sum &a, const Sum &b) {
  Sum sum = a;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  sum.constant += b.constant;
  return sum;
}

Sum negated(const Sum &a) {
  Sum sum;
  for (const std::string &term : a.terms)
    sum.terms.push_back((term[0] == '-' ? "+" : "-") + term.substr(1));
  sum.constant = -a.constant;
  return sum;
}

class RangeFinder {
public:
  RangeFinder(const PassContext &context, const KernelView &kernel)
      : context(context), function(kernel.function()), ast(context.parsed().context()) {}

  std::optional<IndexRange> find(const Expr *expr, unsigned depth = 0) const {
    if (depth > 12)
      return std::nullopt;
    if (const auto *implicit = dyn_cast<ImplicitCastExpr>(expr->IgnoreParens()))
      return converted(implicit, implicit->getSubExpr(), depth);
    if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr->IgnoreParens()))
      return converted(cast, cast->getSubExpr(), depth);
    expr = ast::strip(expr);
    if (std::optional<int64_t> value = ast::constantOf(expr, ast))
      return IndexRange{{{}, *value}, {{}, *value}, false};
    if (std::optional<ast::GridRef> ref = ast::gridRefOf(expr);
        ref && ref->builtin == GridBuiltin::ThreadIdx) {
      std::string extent = std::string("+ blockDim.") + "xyz"[ref->dimension];
      return IndexRange{{{}, 0}, {{extent}, -1}, true};
    }
    if (const auto *binary = dyn_cast<BinaryOperator>(expr); binary && binary->isAdditiveOp()) {
      auto left = find(binary->getLHS(), depth + 1), right = find(binary->getRHS(), depth + 1);
      if (!left || !right)
        return std::nullopt;
      if (isUniform(expr) && !isa<DeclRefExpr>(expr))
        return leaf(expr);
      bool minus = binary->getOpcode() == BO_Sub;
      return IndexRange{added(left->least, minus ? negated(right->greatest) : right->least),
                        added(left->greatest, minus ? negated(right->least) : right->greatest),
                        left->varies || right->varies};
    }
    if (const auto *unary = dyn_cast<UnaryOperator>(expr);
        unary && unary->getOpcode() == UO_Minus) {
      auto inner = find(unary->getSubExpr(), depth + 1);
      if (!inner)
        return std::nullopt;
      return IndexRange{negated(inner->greatest), negated(inner->least), inner->varies};
    }
    if (const VarDecl *variable = ast::variableOf(expr); variable && !isa<ParmVarDecl>(variable))
      return ofVariable(variable, depth);
    return isUniform(expr) ? leaf(expr) : std::nullopt;
  }

private:
  std::optional<IndexRange> leaf(const Expr *expr) const {
    std::string text = context.text(expr->getSourceRange()).str();
    if (text.empty())
      return std::nullopt;
    bool isAtom = isa<DeclRefExpr, IntegerLiteral>(expr) || ast::gridRefOf(expr);
    Sum sum{{"+ " + (isAtom ? text : "(" + text + ")")}, 0};
    return IndexRange{sum, sum, false};
  }

  /// A conversion keeps the value modulo 2^32; to 64 bits only where nothing has wrapped before.
  std::optional<IndexRange> converted(const CastExpr *cast, const Expr *inner,
                                      unsigned depth) const {
    QualType to = cast->getType(), from = inner->getType();
    if (to->isDependentType() || from->isDependentType() || !to->isIntegerType() ||
        !from->isIntegerType())
      return std::nullopt;
    unsigned wide = ast.getIntWidth(to), narrow = ast.getIntWidth(from);
    bool isLeaf = ast::gridRefOf(inner) || ast::constantOf(inner, ast) || ast::variableOf(inner);
    if (wide < 32 || (wide > narrow && narrow >= 32 && !isLeaf && !isUniform(ast::strip(inner))))
      return std::nullopt;
    return find(inner, depth + 1);
  }

  /// Made of parameters, block numbers and constants: the kernel's first line can evaluate it.
  bool isUniform(const Expr *expr) const {
    if (expr->getType()->isDependentType() || !isSpeculatable(expr))
      return false;
    bool uniform = true;
    ast::walk(expr, [&](const Stmt *each) {
      if (const auto *inner = dyn_cast<Expr>(each);
          inner && isa<MSPropertyRefExpr, MemberExpr>(inner)) {
        std::optional<ast::GridRef> ref = ast::gridRefOf(inner);
        uniform &= ref && ref->builtin != GridBuiltin::ThreadIdx;
        return false;
      }
      if (const auto *reference = dyn_cast<DeclRefExpr>(each))
        if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()))
          uniform &= isa<ParmVarDecl>(variable)
                         ? !mayModify(function->getBody(), variable)
                         : variable->hasGlobalStorage() && variable->isConstexpr() &&
                               !variable->isLocalVarDecl();
      uniform &= !isa<CallExpr>(each);
      return uniform;
    });
    return uniform;
  }

  std::optional<IndexRange> ofVariable(const VarDecl *variable, unsigned depth) const {
    if (!variable->hasInit() || variable->hasGlobalStorage() ||
        variable->getType()->isDependentType() || !variable->getType()->isIntegerType() ||
        ast.getIntWidth(variable->getType()) < 32)
      return std::nullopt;
    for (const auto *loop : ast::findAll<ForStmt>(function->getBody()))
      if (const auto *declaration = dyn_cast_or_null<DeclStmt>(loop->getInit());
          declaration && declaration->isSingleDecl() && declaration->getSingleDecl() == variable)
        return ofLoop(loop, variable, depth);
    if (mayModify(function->getBody(), variable))
      return std::nullopt;
    return find(variable->getInit(), depth + 1);
  }

  /// `for (int k = b; k < e; ++k)`, also with <= and a constant step.
  std::optional<IndexRange> ofLoop(const ForStmt *loop, const VarDecl *variable,
                                   unsigned depth) const {
    const auto *test =
        dyn_cast_or_null<BinaryOperator>(loop->getCond() ? ast::strip(loop->getCond()) : nullptr);
    if (!test || (test->getOpcode() != BO_LT && test->getOpcode() != BO_LE) ||
        ast::variableOf(test->getLHS()) != variable || !loop->getInc() ||
        !variable->getType()->isSignedIntegerType() ||
        !test->getRHS()->IgnoreImpCasts()->getType()->isSignedIntegerType() ||
        mayModify(loop->getBody(), variable))
      return std::nullopt;
    const Expr *step = ast::strip(loop->getInc());
    const auto *unary = dyn_cast<UnaryOperator>(step);
    const auto *compound = dyn_cast<CompoundAssignOperator>(step);
    bool counts =
        (unary && unary->isIncrementOp() && ast::variableOf(unary->getSubExpr()) == variable) ||
        (compound && compound->getOpcode() == BO_AddAssign &&
         ast::variableOf(compound->getLHS()) == variable &&
         ast::constantOf(compound->getRHS(), ast).value_or(0) > 0);
    auto begin = find(variable->getInit(), depth + 1), end = find(test->getRHS(), depth + 1);
    if (!counts || !begin || !end)
      return std::nullopt;
    IndexRange range{begin->least, end->greatest, true};
    range.greatest.constant -= test->getOpcode() == BO_LT;
    return range;
  }

  const PassContext &context;
  const FunctionDecl *function;
  const ASTContext &ast;
};

} // namespace

std::optional<IndexRange> bounds::rangeOf(const PassContext &context, const KernelView &kernel,
                                          const Expr *expr) {
  return RangeFinder(context, kernel).find(expr);
}
