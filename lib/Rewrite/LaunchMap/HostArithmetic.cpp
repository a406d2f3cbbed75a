//===- HostArithmetic.cpp - Operators of the host -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns operators on integers, pointers and floating point, as C++ defines them, and assignments.
//
//===----------------------------------------------------------------------===//
#include "HostEvaluator.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;

HostEvaluator::Result HostEvaluator::unary(const UnaryOperator *expr) {
  const Expr *operand = expr->getSubExpr();
  if (expr->getOpcode() == UO_AddrOf)
    return addressOf(operand);
  if (expr->isIncrementDecrementOp()) {
    HostValue *target = place(operand);
    if (!target || !target->index())
      return refuse(expr, "'" + textOf(operand) + "' is not a variable of the new statements");
    const HostValue before = *target;
    QualType type = operand->getType();
    Result after =
        arithmetic(expr, expr->isIncrementOp() ? BO_Add : BO_Sub, before,
                   type->isPointerType() ? integerOf(1, ast.LongTy, ast) : integerOf(1, type, ast),
                   type, type);
    if (after)
      *target = *after;
    return !after ? std::nullopt : expr->isPrefix() ? after : Result(before);
  }
  Result value = evaluate(operand);
  if (!value)
    return std::nullopt;
  const auto *integer = std::get_if<APSInt>(&*value);
  const auto *number = std::get_if<APFloat>(&*value);
  switch (expr->getOpcode()) {
  case UO_Plus:
    return value;
  case UO_Minus:
    if (integer && !(integer->isSigned() && integer->isMinSignedValue()))
      return HostValue(-*integer);
    if (number)
      return HostValue(neg(*number));
    break;
  case UO_Not:
    if (integer)
      return HostValue(~*integer);
    break;
  case UO_LNot:
    if (integer)
      return integerOf(integer->isZero(), expr->getType(), ast);
    break;
  default:
    break;
  }
  return refuse(expr, "'" + textOf(expr) + "' is not followed");
}

HostEvaluator::Result HostEvaluator::binary(const BinaryOperator *expr) {
  if (expr->isAssignmentOp())
    return assign(expr);
  if (expr->isLogicalOp())
    return logical(expr);
  Result left = evaluate(expr->getLHS());
  Result right = left ? evaluate(expr->getRHS()) : std::nullopt;
  if (!right || expr->getOpcode() == BO_Comma)
    return right;
  QualType pointer = expr->getLHS()->getType()->isPointerType() ? expr->getLHS()->getType()
                                                                : expr->getRHS()->getType();
  return arithmetic(expr, expr->getOpcode(), *left, *right, pointer, expr->getType());
}

HostEvaluator::Result HostEvaluator::logical(const BinaryOperator *expr) {
  const bool isAnd = expr->getOpcode() == BO_LAnd;
  std::optional<bool> left = truth(expr->getLHS());
  if (!left)
    return std::nullopt;
  if (*left != isAnd)
    return integerOf(*left, expr->getType(), ast);
  std::optional<bool> right = truth(expr->getRHS());
  return right ? Result(integerOf(*right, expr->getType(), ast)) : std::nullopt;
}

/// Whether \p opcode holds of two values that compare as \p less and \p equal say.
static std::optional<bool> holds(BinaryOperatorKind opcode, bool less, bool equal) {
  switch (opcode) {
  case BO_LT:
    return less;
  case BO_LE:
    return less || equal;
  case BO_GT:
    return !less && !equal;
  case BO_GE:
    return !less;
  case BO_EQ:
    return equal;
  case BO_NE:
    return !equal;
  default:
    return std::nullopt;
  }
}

/// \p left \p opcode \p right in the type that both have; nothing if that is undefined.
static std::optional<APSInt> combine(BinaryOperatorKind opcode, const APSInt &left,
                                     const APSInt &right) {
  bool overflows = false;
  const bool isSigned = left.isSigned();
  auto make = [&](APInt result) -> std::optional<APSInt> {
    if (overflows)
      return std::nullopt;
    return APSInt(std::move(result), !isSigned);
  };
  switch (opcode) {
  case BO_Add:
    return make(isSigned ? left.sadd_ov(right, overflows) : APInt(left) + right);
  case BO_Sub:
    return make(isSigned ? left.ssub_ov(right, overflows) : APInt(left) - right);
  case BO_Mul:
    return make(isSigned ? left.smul_ov(right, overflows) : APInt(left) * right);
  case BO_Div:
  case BO_Rem:
    if (right.isZero() || (isSigned && left.isMinSignedValue() && right.isAllOnes()))
      return std::nullopt;
    return opcode == BO_Div ? left / right : left % right;
  case BO_And:
    return left & right;
  case BO_Or:
    return left | right;
  case BO_Xor:
    return left ^ right;
  default:
    return std::nullopt;
  }
}

static std::optional<APFloat> combine(BinaryOperatorKind opcode, APFloat left,
                                      const APFloat &right) {
  constexpr auto rounding = APFloat::rmNearestTiesToEven;
  if (opcode == BO_Add)
    left.add(right, rounding);
  else if (opcode == BO_Sub)
    left.subtract(right, rounding);
  else if (opcode == BO_Mul)
    left.multiply(right, rounding);
  else if (opcode == BO_Div)
    left.divide(right, rounding);
  else
    return std::nullopt;
  return left;
}

HostEvaluator::Result HostEvaluator::arithmetic(const Expr *place, BinaryOperatorKind opcode,
                                                const HostValue &left, const HostValue &right,
                                                QualType pointer, QualType type) {
  const auto *a = std::get_if<APSInt>(&left), *b = std::get_if<APSInt>(&right);
  if (a && b && (opcode == BO_Shl || opcode == BO_Shr)) {
    if (!b->isNegative() && b->ult(a->getBitWidth()) && !(opcode == BO_Shl && a->isNegative())) {
      const unsigned by = static_cast<unsigned>(b->getZExtValue());
      const APSInt result = opcode == BO_Shl ? *a << by : *a >> by;
      if (opcode == BO_Shr || a->isUnsigned() || (result >> by) == *a)
        return HostValue(result);
    }
  } else if (a && b && a->getBitWidth() == b->getBitWidth() && a->isSigned() == b->isSigned()) {
    if (auto holding = holds(opcode, *a < *b, *a == *b))
      return integerOf(*holding, type, ast);
    if (auto result = combine(opcode, *a, *b))
      return asInteger(*result, type, ast);
  } else if (std::holds_alternative<Address>(left) || std::holds_alternative<Address>(right)) {
    return pointerArithmetic(place, opcode, left, right, pointer, type);
  } else if (const auto *f = std::get_if<const FunctionDecl *>(&left)) {
    if (const auto *g = std::get_if<const FunctionDecl *>(&right);
        g && (opcode == BO_EQ || opcode == BO_NE))
      return integerOf((*f == *g) == (opcode == BO_EQ), type, ast);
  } else if (const auto *x = std::get_if<APFloat>(&left)) {
    const auto *y = std::get_if<APFloat>(&right);
    if (y && &x->getSemantics() == &y->getSemantics() && !x->isNaN() && !y->isNaN()) {
      if (auto holding = holds(opcode, x->compare(*y) == APFloat::cmpLessThan,
                               x->compare(*y) == APFloat::cmpEqual))
        return integerOf(*holding, type, ast);
      if (auto result = combine(opcode, *x, *y))
        return HostValue(*result);
    }
  }
  return refuse(place, "'" + textOf(place) + "' is not followed");
}

HostEvaluator::Result HostEvaluator::pointerArithmetic(const Expr *place, BinaryOperatorKind opcode,
                                                       const HostValue &left,
                                                       const HostValue &right, QualType pointer,
                                                       QualType type) {
  const auto *a = std::get_if<Address>(&left), *b = std::get_if<Address>(&right);
  QualType pointee = pointer->getPointeeType();
  if (a && b)
    if (auto holding = holds(opcode, a->value < b->value, a->value == b->value))
      return integerOf(*holding, type, ast);
  if (!pointee.isNull() && !pointee->isIncompleteType()) {
    const int64_t size = ast.getTypeSizeInChars(pointee).getQuantity();
    if (a && b && opcode == BO_Sub && size)
      return integerOf(static_cast<uint64_t>(static_cast<int64_t>(a->value - b->value) / size),
                       type, ast);
    const Address *base = a ? a : b;
    const auto *offset = std::get_if<APSInt>(a ? &right : &left);
    if (offset && (opcode == BO_Add || (opcode == BO_Sub && a))) {
      const uint64_t bytes =
          static_cast<uint64_t>(offset->getExtValue()) * static_cast<uint64_t>(size);
      return Address{opcode == BO_Add ? base->value + bytes : base->value - bytes};
    }
  }
  return refuse(place, "'" + textOf(place) + "' is not followed");
}

HostEvaluator::Result HostEvaluator::assign(const BinaryOperator *expr) {
  if (!place(expr->getLHS()))
    return refuse(expr, "'" + textOf(expr->getLHS()) + "' is not a variable of the new statements");
  Result value = evaluate(expr->getRHS());
  HostValue *target = place(expr->getLHS());
  if (const auto *compound = dyn_cast<CompoundAssignOperator>(expr); compound && value) {
    QualType type = compound->getComputationLHSType(), own = expr->getLHS()->getType();
    const auto *before = std::get_if<APSInt>(target);
    const HostValue left = before && type->isIntegralOrEnumerationType()
                               ? HostValue(asInteger(*before, type, ast))
                               : *target;
    value = arithmetic(expr, BinaryOperator::getOpForCompoundAssignment(expr->getOpcode()), left,
                       *value, own, compound->getComputationResultType());
    if (value)
      if (const auto *after = std::get_if<APSInt>(&*value);
          after && own->isIntegralOrEnumerationType())
        value = HostValue(asInteger(*after, own, ast));
  }
  if (value)
    *target = *value;
  return value;
}
