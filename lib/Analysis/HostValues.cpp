//===- HostValues.cpp - Constants in host code -----------------------------===//
//
// Owns folding of host expressions through variables that never change.
//
//===----------------------------------------------------------------------===//
#include "HostValues.h"

#include "kb-opt/Analysis/Legality.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace kbopt::analysis {

/// The initialiser of a variable that keeps it.
static const Expr *settledValue(const Expr *expr, const FunctionDecl *host) {
  auto *ref = dyn_cast<DeclRefExpr>(expr->IgnoreParenImpCasts());
  auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
  if (!variable || isa<ParmVarDecl>(variable) || !variable->hasInit())
    return nullptr;
  if (!variable->getType().isConstQualified()) {
    // The variable's own function: of a template, the instantiation.
    auto *owner = dyn_cast_or_null<FunctionDecl>(variable->getParentFunctionOrMethod());
    if (!variable->hasLocalStorage() || !owner || !owner->getBody() || mayModify(owner->getBody(), variable))
      return nullptr;
  }
  return variable->getInit();
}

static std::optional<int64_t> fold(const ASTContext &ast, const Expr *expr, const FunctionDecl *host,
                                   unsigned depth) {
  if (!expr || depth > 16 || expr->isValueDependent())
    return std::nullopt;
  expr = expr->IgnoreParenImpCasts();
  Expr::EvalResult result;
  if (expr->getType()->isIntegralOrEnumerationType() && expr->EvaluateAsInt(result, ast) &&
      !result.HasSideEffects)
    return result.Val.getInt().getExtValue();
  if (auto *cast = dyn_cast<ExplicitCastExpr>(expr))
    return cast->getType()->isIntegralOrEnumerationType() ? fold(ast, cast->getSubExpr(), host, depth + 1)
                                                          : std::nullopt;
  if (const Expr *value = settledValue(expr, host))
    return fold(ast, value, host, depth + 1);
  auto *op = dyn_cast<BinaryOperator>(expr);
  if (!op || !op->getType()->isIntegralOrEnumerationType())
    return std::nullopt;
  auto left = fold(ast, op->getLHS(), host, depth + 1), right = fold(ast, op->getRHS(), host, depth + 1);
  int64_t value;
  if (!left || !right)
    return std::nullopt;
  switch (op->getOpcode()) {
  case BO_Add: return __builtin_add_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BO_Sub: return __builtin_sub_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BO_Mul: return __builtin_mul_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BO_Div: return *left >= 0 && *right > 0 ? std::optional(*left / *right) : std::nullopt;
  case BO_Rem: return *left >= 0 && *right > 0 ? std::optional(*left % *right) : std::nullopt;
  case BO_Shl: return *left >= 0 && *right >= 0 && *right < 32 && *left < (1 << 30)
                          ? std::optional(*left << *right) : std::nullopt;
  case BO_Shr: return *left >= 0 && *right >= 0 && *right < 63 ? std::optional(*left >> *right) : std::nullopt;
  default: return std::nullopt;
  }
}

std::optional<int64_t> foldHost(const ASTContext &ast, const Expr *expr, const FunctionDecl *host) {
  return fold(ast, expr, host, 0);
}

std::array<int64_t, 3> foldDim3(const ASTContext &ast, const Expr *expr, const FunctionDecl *host) {
  std::array<int64_t, 3> unknown = {-1, -1, -1};
  for (unsigned depth = 0; expr && depth < 16; ++depth) {
    expr = expr->IgnoreUnlessSpelledInSource();
    if (auto *construct = dyn_cast<CXXConstructExpr>(expr)) {
      if (construct->getConstructor()->isCopyOrMoveConstructor()) {
        expr = construct->getArg(0);
        continue;
      }
      std::array<int64_t, 3> result = {1, 1, 1};
      if (construct->getNumArgs() > 3)
        return unknown;
      for (unsigned i = 0; i < construct->getNumArgs(); ++i)
        result[i] = fold(ast, construct->getArg(i), host, 0).value_or(-1);
      return result;
    }
    if (auto *cast = dyn_cast<ExplicitCastExpr>(expr)) {
      expr = cast->getSubExpr();
      continue;
    }
    if (auto *list = dyn_cast<InitListExpr>(expr)) {
      std::array<int64_t, 3> result = {1, 1, 1};
      for (unsigned i = 0; i < std::min(3u, list->getNumInits()); ++i)
        result[i] = fold(ast, list->getInit(i), host, 0).value_or(-1);
      return result;
    }
    if (expr->getType()->isIntegralOrEnumerationType())
      return {fold(ast, expr, host, 0).value_or(-1), 1, 1};
    const Expr *value = settledValue(expr, host);
    if (!value)
      return unknown;
    expr = value;
  }
  return unknown;
}

} // namespace kbopt::analysis
