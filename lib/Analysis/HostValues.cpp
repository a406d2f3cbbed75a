//===- HostValues.cpp - Constants in host code -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
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
    if (!variable->hasLocalStorage() || !owner || !owner->getBody() ||
        mayModify(owner->getBody(), variable))
      return nullptr;
  }
  return variable->getInit();
}

static std::optional<int64_t> fold(const ASTContext &ast, const Expr *expr,
                                   const FunctionDecl *host, unsigned depth) {
  if (!expr || depth > 16 || expr->isValueDependent())
    return std::nullopt;
  expr = expr->IgnoreParenImpCasts();
  Expr::EvalResult result;
  if (expr->getType()->isIntegralOrEnumerationType() && expr->EvaluateAsInt(result, ast) &&
      !result.HasSideEffects)
    return result.Val.getInt().tryExtValue();
  if (auto *cast = dyn_cast<ExplicitCastExpr>(expr))
    return cast->getType()->isIntegralOrEnumerationType()
               ? fold(ast, cast->getSubExpr(), host, depth + 1)
               : std::nullopt;
  if (const Expr *value = settledValue(expr, host))
    return fold(ast, value, host, depth + 1);
  auto *op = dyn_cast<BinaryOperator>(expr);
  if (!op || !op->getType()->isIntegralOrEnumerationType())
    return std::nullopt;
  auto left = fold(ast, op->getLHS(), host, depth + 1),
       right = fold(ast, op->getRHS(), host, depth + 1);
  int64_t value;
  if (!left || !right)
    return std::nullopt;
  switch (op->getOpcode()) {
  case BO_Add:
    return __builtin_add_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BO_Sub:
    return __builtin_sub_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BO_Mul:
    return __builtin_mul_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BO_Div:
    return *left >= 0 && *right > 0 ? std::optional(*left / *right) : std::nullopt;
  case BO_Rem:
    return *left >= 0 && *right > 0 ? std::optional(*left % *right) : std::nullopt;
  case BO_Shl:
    return *left >= 0 && *right >= 0 && *right < 32 && *left < (1 << 30)
               ? std::optional(*left << *right)
               : std::nullopt;
  case BO_Shr:
    return *left >= 0 && *right >= 0 && *right < 63 ? std::optional(*left >> *right) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> foldHost(const ASTContext &ast, const Expr *expr, const FunctionDecl *host) {
  return fold(ast, expr, host, 0);
}

/// The expressions of a grid or block; null stands for 1. Nothing if they are not
/// in sight.
static std::optional<std::array<const Expr *, 3>> components(const Expr *expr,
                                                             const FunctionDecl *host) {
  for (unsigned depth = 0; expr && depth < 16; ++depth) {
    expr = expr->IgnoreUnlessSpelledInSource();
    std::array<const Expr *, 3> result = {};
    if (auto *construct = dyn_cast<CXXConstructExpr>(expr)) {
      if (construct->getConstructor()->isCopyOrMoveConstructor()) {
        expr = construct->getArg(0);
        continue;
      }
      if (construct->getNumArgs() > 3)
        return std::nullopt;
      for (unsigned i = 0; i < construct->getNumArgs(); ++i)
        result[i] = construct->getArg(i);
      return result;
    }
    if (auto *cast = dyn_cast<ExplicitCastExpr>(expr)) {
      expr = cast->getSubExpr();
      continue;
    }
    if (auto *list = dyn_cast<InitListExpr>(expr)) {
      for (unsigned i = 0; i < std::min(3u, list->getNumInits()); ++i)
        result[i] = list->getInit(i);
      return result;
    }
    if (expr->getType()->isIntegralOrEnumerationType()) {
      result[0] = expr;
      return result;
    }
    expr = settledValue(expr, host);
  }
  return std::nullopt;
}

std::array<int64_t, 3> foldDim3(const ASTContext &ast, const Expr *expr, const FunctionDecl *host) {
  std::array<int64_t, 3> result = {-1, -1, -1};
  if (auto parts = components(expr, host))
    for (unsigned c = 0; c < 3; ++c)
      result[c] = (*parts)[c] ? fold(ast, (*parts)[c], host, 0).value_or(-1) : 1;
  return result;
}

/// \p isExtent: negative values do not matter, because no launch runs with them.
static int64_t bound(const ASTContext &ast, const Expr *expr, const FunctionDecl *host,
                     bool isExtent, unsigned depth) {
  if (depth > 16 || expr->isValueDependent() || !expr->getType()->isIntegralOrEnumerationType())
    return INT64_MAX;
  bool isSigned = expr->getType()->isSignedIntegerOrEnumerationType();
  unsigned bits = ast.getIntWidth(expr->getType()) - isSigned;
  int64_t limit = bits > 62 ? INT64_MAX : ((int64_t)1 << bits) - 1;
  auto within = [&](const Expr *part, bool extent) {
    return std::min(limit, bound(ast, part, host, extent, depth + 1));
  };
  if (auto value = fold(ast, expr, host, 0); value && *value >= 0)
    return std::min(limit, *value);
  expr = expr->IgnoreParens();
  if (auto *cast = dyn_cast<CastExpr>(expr);
      cast && cast->getSubExpr()->getType()->isIntegralOrEnumerationType()) {
    if (cast->getCastKind() == CK_LValueToRValue || cast->getCastKind() == CK_NoOp)
      return within(cast->getSubExpr(), isExtent);
    bool losesSign = !isSigned && cast->getSubExpr()->getType()->isSignedIntegerOrEnumerationType();
    return losesSign && !isExtent ? limit : within(cast->getSubExpr(), isExtent);
  }
  if (const Expr *value = settledValue(expr, host))
    return within(value, isExtent);
  auto *op = dyn_cast<BinaryOperator>(expr);
  bool divides = op && op->getOpcode() == BO_Div, shifts = op && op->getOpcode() == BO_Shr;
  auto by = divides || shifts ? fold(ast, op->getRHS(), host, 0) : std::nullopt;
  if (!by || *by < 0 || (divides && *by == 0) || (shifts && *by > 62))
    return limit;
  int64_t dividend = within(op->getLHS(), false);
  return shifts ? dividend >> *by : dividend / *by;
}

LaunchRanges launchRanges(const ASTContext &ast, llvm::ArrayRef<LaunchFact> launches,
                          llvm::StringRef kernel) {
  std::optional<LaunchRanges> result;
  const LaunchRanges limits;
  for (const LaunchFact &launch : launches) {
    if (!llvm::is_contained(launch.mangledNames, kernel))
      continue;
    if (launch.instances > 1)
      return limits;
    LaunchRanges here;
    auto extents = [&](const Expr *expr, std::array<Interval, 3> &ranges) {
      auto parts = expr ? components(expr, launch.host) : std::nullopt;
      for (unsigned c = 0; parts && c < 3; ++c) {
        const Expr *part = (*parts)[c];
        auto value = part ? fold(ast, part, launch.host, 0) : std::optional<int64_t>(1);
        int64_t most = value ? *value : bound(ast, part, launch.host, true, 0);
        if (most >= 1 && most < ranges[c].high)
          ranges[c].high = most;
        if (value && *value >= 1 && *value <= ranges[c].high)
          ranges[c].low = *value;
      }
    };
    extents(launch.block, here.block);
    extents(launch.grid, here.grid);
    __int128 threads = here.block[0].high * here.block[1].high * here.block[2].high;
    here.fits31 = here.grid[0].high * std::min<__int128>(threads, 1024) <= INT32_MAX;
    for (auto [position, argument] : llvm::enumerate(launch.arguments))
      if (argument->getType()->isIntegralOrEnumerationType())
        if (auto value = fold(ast, argument, launch.host, 0))
          here.arguments[position] = {*value, *value};
    if (!result) {
      result = std::move(here);
      continue;
    }
    auto widen = [](Interval &range, const Interval &other) {
      range = {std::min(range.low, other.low), std::max(range.high, other.high)};
    };
    for (unsigned c = 0; c < 3; ++c) {
      widen(result->block[c], here.block[c]);
      widen(result->grid[c], here.grid[c]);
    }
    result->fits31 &= here.fits31;
    for (auto it = result->arguments.begin(); it != result->arguments.end();) {
      auto other = here.arguments.find(it->first);
      if (other != here.arguments.end())
        widen(it->second, other->second);
      it = other == here.arguments.end() ? result->arguments.erase(it) : std::next(it);
    }
  }
  return result.value_or(limits);
}

} // namespace kbopt::analysis
