//===- ValuesAtLaunch.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ValuesAtLaunch.h"

#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace clang;

/// What the local variable \p variable of \p kernel is initialised with, if it keeps that.
static const Expr *keptValue(const KernelView &kernel, const VarDecl *variable) {
  const bool isPlain = variable && variable->isLocalVarDecl() && variable->hasInit() &&
                       variable->getType()->isIntegerType() &&
                       !variable->getType().isVolatileQualified();
  return isPlain && !mayModify(kernel.function()->getBody(), variable) ? variable->getInit()
                                                                       : nullptr;
}

static bool isExtent(const Expr *expr) {
  std::optional<ast::GridRef> ref = ast::gridRefOf(expr);
  return ref && (ref->builtin == GridBuiltin::BlockDim || ref->builtin == GridBuiltin::GridDim);
}

bool kbopt::isUniform(const PassContext &context, const KernelView &kernel, const Expr *expr) {
  if (expr->isTypeDependent() || expr->isValueDependent())
    return false;
  expr = expr->IgnoreParenImpCasts();
  if (!expr->getType()->isIntegerType())
    return false;
  if (isExtent(expr) || ast::constantOf(expr, context.parsed().context()))
    return true;
  auto below = [&](const Expr *part) { return isUniform(context, kernel, part); };
  const VarDecl *variable = ast::variableOf(expr);
  if (const auto *parameter = dyn_cast_or_null<ParmVarDecl>(variable))
    return parameter->getDeclContext() == kernel.function() &&
           !mayModify(kernel.function()->getBody(), parameter);
  if (const Expr *value = keptValue(kernel, variable))
    return below(value);
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr))
    return below(cast->getSubExpr());
  const auto *binary = dyn_cast<BinaryOperator>(expr);
  return binary && (binary->isAdditiveOp() || binary->isMultiplicativeOp()) &&
         below(binary->getLHS()) && below(binary->getRHS());
}

std::string ValuesAtLaunch::castTo(QualType type, const std::string &text) const {
  const std::string name = type.getCanonicalType().getUnqualifiedType().getAsString(
      context.parsed().context().getPrintingPolicy());
  return text.empty() ? "" : "(" + name + ")" + text;
}

/// A constant, an extent, a parameter or a variable; in its own type.
std::string ValuesAtLaunch::leaf(const Expr *expr) {
  const ASTContext &ast = context.parsed().context();
  const QualType type = expr->getType();
  if (std::optional<int64_t> value = ast::constantOf(expr, ast)) {
    std::string number = std::to_string(*value);
    if (*value < 0)
      number = "(" + number + ")";
    return ast.hasSameUnqualifiedType(type, ast.IntTy) ? number : castTo(type, number);
  }
  if (std::optional<ast::GridRef> ref = ast::gridRefOf(expr)) {
    const bool isBlock = ref->builtin == GridBuiltin::BlockDim;
    return castTo(ast.UnsignedIntTy, extentText(context, launch, isBlock, ref->dimension));
  }
  const VarDecl *variable = ast::variableOf(expr);
  const auto *parameter = dyn_cast_or_null<ParmVarDecl>(variable);
  if (!parameter)
    return castTo(variable->getType(), text(keptValue(kernel, variable)));
  const unsigned index = parameter->getFunctionScopeIndex();
  const std::string argument = argumentText(context, launch, index);
  if (argument.empty())
    return "";
  const QualType own = launch.arguments[index]->IgnoreParenImpCasts()->getType();
  return ast.hasSameUnqualifiedType(own, parameter->getType())
             ? argument
             : castTo(parameter->getType(), argument);
}

/// Whether the launch shows that \p expr is a number above 0 that every type has.
bool ValuesAtLaunch::isSmallAndPositive(const Expr *expr) const {
  expr = expr->IgnoreParenImpCasts();
  const Expr *passed = nullptr;
  bool known = true;
  if (std::optional<ast::GridRef> ref = ast::gridRefOf(expr))
    passed =
        ast::launchComponent(ref->builtin == GridBuiltin::BlockDim ? launch.block : launch.grid,
                             ref->dimension, launch.host, known);
  else if (const auto *parameter = dyn_cast_or_null<ParmVarDecl>(ast::variableOf(expr)))
    passed = launch.arguments[parameter->getFunctionScopeIndex()];
  if (!passed || !known || launch.instances > 1)
    return false;
  std::optional<int64_t> value =
      ast::constantOf(ast::resolve(passed, launch.host), context.parsed().context());
  return value && *value > 0 && llvm::isInt<8>(*value);
}

std::string ValuesAtLaunch::operation(const BinaryOperator *expr) {
  const std::string left = text(expr->getLHS()), right = text(expr->getRHS());
  if (left.empty() || right.empty())
    return "";
  const bool divides = expr->getOpcode() == BO_Div || expr->getOpcode() == BO_Rem;
  const std::optional<int64_t> divisor =
      ast::constantOf(expr->getRHS(), context.parsed().context());
  if (divides && divisor && *divisor <= 0)
    return "";
  if (divides && !divisor && !isSmallAndPositive(expr->getRHS()) &&
      !llvm::is_contained(conditions, right + " > 0"))
    conditions.push_back(right + " > 0");
  return "(" + left + " " + expr->getOpcodeStr().str() + " " + right + ")";
}

std::string ValuesAtLaunch::text(const Expr *expr) {
  expr = expr->IgnoreParenImpCasts();
  const bool isConstant = ast::constantOf(expr, context.parsed().context()).has_value();
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr); cast && !isConstant)
    return castTo(cast->getType(), text(cast->getSubExpr()));
  const auto *binary = dyn_cast<BinaryOperator>(expr);
  return binary && !isConstant ? operation(binary) : leaf(expr);
}

std::string ValuesAtLaunch::condition() const { return llvm::join(conditions, " && "); }
