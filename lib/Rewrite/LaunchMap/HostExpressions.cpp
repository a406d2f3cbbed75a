//===- HostExpressions.cpp - Expressions of the host -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostEvaluator.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;

std::string HostEvaluator::textOf(const Expr *expr) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  expr->printPretty(os, nullptr, ast.getPrintingPolicy());
  return text;
}

bool HostEvaluator::namesOwn(const Expr *expr) {
  for (const DeclRefExpr *reference : ast::findAll<DeclRefExpr>(expr))
    if (const auto *named = dyn_cast<VarDecl>(reference->getDecl()))
      if (frames.back().variables.count(named) || state.statics.count(named) ||
          changedNames.count(named->getNameAsString()))
        return true;
  return false;
}

HostEvaluator::Result HostEvaluator::evaluate(const Expr *expr) {
  if (++work > mostWork)
    return refuse(expr, "too much is computed in the place of a launch");
  // A called function has names of its own.
  if (frames.size() == 1)
    if (const HostValue *known = values.find(expr, ast); known && !namesOwn(expr))
      return *known;
  if (const HostValue &constant = facts.constant(expr, ast); constant.index())
    return constant;
  return evaluateNew(expr);
}

HostEvaluator::Result HostEvaluator::evaluateNew(const Expr *expr) {
  if (const Expr *inner = passedOn(expr))
    return evaluate(inner);
  if (const auto *each = dyn_cast<DeclRefExpr>(expr))
    return variable(each);
  if (const auto *each = dyn_cast<CastExpr>(expr))
    return cast(each);
  if (const auto *each = dyn_cast<UnaryOperator>(expr))
    return unary(each);
  if (const auto *each = dyn_cast<BinaryOperator>(expr))
    return binary(each);
  if (const auto *each = dyn_cast<ConditionalOperator>(expr)) {
    const std::optional<bool> holds = truth(each->getCond());
    return !holds ? std::nullopt : evaluate(*holds ? each->getTrueExpr() : each->getFalseExpr());
  }
  if (const auto *each = dyn_cast<CUDAKernelCallExpr>(expr))
    return launch(each);
  if (const auto *each = dyn_cast<CXXConstructExpr>(expr))
    return construct(each);
  if (isa<CXXMemberCallExpr, CXXOperatorCallExpr>(expr))
    return refuse(expr, "'" + textOf(expr) + "' is not followed");
  if (const auto *each = dyn_cast<CallExpr>(expr))
    return call(each);
  if (const auto *each = dyn_cast<MemberExpr>(expr))
    return member(each);
  if (const auto *each = dyn_cast<CXXDefaultArgExpr>(expr))
    return evaluate(each->getExpr());
  if (const auto *each = dyn_cast<CXXDefaultInitExpr>(expr))
    return evaluate(each->getExpr());
  if (isa<CXXNullPtrLiteralExpr, GNUNullExpr>(expr))
    return Address{};
  return refuse(expr, "the launch does not tell what '" + textOf(expr) + "' is");
}

HostValue *HostEvaluator::place(const VarDecl *variable) {
  auto own = frames.back().variables.find(variable);
  if (own != frames.back().variables.end())
    return &own->second;
  auto known = state.statics.find(variable);
  return known == state.statics.end() ? nullptr : &known->second;
}

HostValue *HostEvaluator::place(const Expr *expr) {
  if (const VarDecl *variable = ast::variableOf(expr)) {
    changesState |= variable->isStaticLocal(); // every evaluation writes
    return place(variable);
  }
  const auto *member = dyn_cast<MemberExpr>(ast::strip(expr));
  const auto *field = member ? dyn_cast<FieldDecl>(member->getMemberDecl()) : nullptr;
  return field && isa<CXXThisExpr>(ast::strip(member->getBase())) ? &frames.back().object[field]
                                                                  : nullptr;
}

HostEvaluator::Result HostEvaluator::variable(const DeclRefExpr *reference) {
  if (const auto *function = dyn_cast<FunctionDecl>(reference->getDecl()))
    return function->getCanonicalDecl();
  const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
  const std::string name = reference->getDecl()->getNameAsString();
  if (variable)
    if (const HostValue *known = place(variable))
      return known->index() ? Result(*known) : refuse(reference, "'" + name + "' has no value");
  if (variable && frames.size() == 1 && !isa<ParmVarDecl>(variable) && variable->hasInit() &&
      facts.isFixed(variable, host))
    return evaluate(variable->getInit());
  return refuse(reference, "the launch does not tell what '" + name + "' is");
}

HostEvaluator::Result HostEvaluator::cast(const CastExpr *expr) {
  if (expr->getCastKind() == CK_NullToPointer)
    return Address{};
  if (expr->getCastKind() == CK_ToVoid) {
    Result result = evaluate(expr->getSubExpr());
    return result ? Result(HostValue()) : std::nullopt;
  }
  Result value = evaluate(expr->getSubExpr());
  return value ? convert(*value, expr) : std::nullopt;
}

HostEvaluator::Result HostEvaluator::convert(const HostValue &value, const CastExpr *expr) {
  QualType to = expr->getType();
  const auto *integer = std::get_if<APSInt>(&value);
  const auto *number = std::get_if<APFloat>(&value);
  const auto *address = std::get_if<Address>(&value);
  switch (expr->getCastKind()) {
  case CK_NoOp:
  case CK_LValueToRValue:
  case CK_BitCast:
  case CK_ConstructorConversion:
  case CK_FunctionToPointerDecay:
    return value;
  case CK_IntegralCast:
    if (integer)
      return asInteger(*integer, to, ast);
    break;
  case CK_IntegralToBoolean:
    if (integer)
      return integerOf(!integer->isZero(), to, ast);
    break;
  case CK_PointerToBoolean:
    if (address)
      return integerOf(address->value != 0, to, ast);
    break;
  case CK_PointerToIntegral:
    if (address)
      return integerOf(address->value, to, ast);
    break;
  case CK_IntegralToPointer:
    if (integer)
      return Address{integer->extOrTrunc(64).getZExtValue()};
    break;
  case CK_IntegralToFloating:
    if (integer) {
      APFloat result(ast.getFloatTypeSemantics(to));
      result.convertFromAPInt(*integer, integer->isSigned(), APFloat::rmNearestTiesToEven);
      return result;
    }
    break;
  case CK_FloatingToIntegral:
    if (number) {
      APSInt result(ast.getIntWidth(to), to->isUnsignedIntegerOrEnumerationType());
      bool isExact = false;
      if (number->convertToInteger(result, APFloat::rmTowardZero, &isExact) != APFloat::opInvalidOp)
        return result;
    }
    break;
  case CK_FloatingCast:
    if (number) {
      APFloat result = *number;
      bool losesInfo = false;
      result.convert(ast.getFloatTypeSemantics(to), APFloat::rmNearestTiesToEven, &losesInfo);
      return result;
    }
    break;
  default:
    break;
  }
  return refuse(expr, "the conversion '" + textOf(expr) + "' is not followed");
}

HostEvaluator::Result HostEvaluator::addressOf(const Expr *operand) {
  operand = operand->IgnoreParens();
  if (const auto *reference = dyn_cast<DeclRefExpr>(operand)) {
    if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()); variable && place(variable))
      return variable;
    if (const auto *function = dyn_cast<FunctionDecl>(reference->getDecl()))
      return function->getCanonicalDecl();
  }
  if (const auto *element = dyn_cast<ArraySubscriptExpr>(operand);
      element && element->getBase()->getType()->isPointerType()) {
    Result base = evaluate(element->getBase()),
           index = base ? evaluate(element->getIdx()) : std::nullopt;
    return !index ? std::nullopt
                  : arithmetic(element, BO_Add, *base, *index, element->getBase()->getType(),
                               element->getBase()->getType());
  }
  return refuse(operand, "the address of '" + textOf(operand) + "' is not followed");
}

std::optional<bool> HostEvaluator::truth(const Expr *expr) {
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (const auto *integer = std::get_if<APSInt>(&*value))
    return !integer->isZero();
  return refuse(expr, "'" + textOf(expr) + "' is not followed");
}

std::optional<uint64_t> HostEvaluator::natural(const Expr *expr) {
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  const auto *integer = std::get_if<APSInt>(&*value);
  if (integer && !integer->isNegative() && integer->getActiveBits() <= 64)
    return integer->getZExtValue();
  return refuse(expr, "'" + textOf(expr) + "' is no size");
}

std::optional<uint64_t> HostEvaluator::address(const Expr *expr) {
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (const auto *pointer = std::get_if<Address>(&*value))
    return pointer->value;
  return refuse(expr, "'" + textOf(expr) + "' is no pointer to device memory");
}

std::optional<kbrt::Dim3> HostEvaluator::extents(const Expr *expr) {
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (const auto *shape = std::get_if<kbrt::Dim3>(&*value))
    return *shape;
  return refuse(expr, "'" + textOf(expr) + "' is no grid or block");
}

std::optional<uint32_t> HostEvaluator::stream(const Expr *expr) {
  if (isNullPointer(expr, ast))
    return values.nullStream();
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (const auto *known = std::get_if<StreamId>(&*value))
    return known->id;
  if (const auto *pointer = std::get_if<Address>(&*value); pointer && !pointer->value)
    return values.nullStream();
  return refuse(expr, "the launch does not tell what stream '" + textOf(expr) + "' is");
}
