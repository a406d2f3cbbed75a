//===- ReadIntegers.cpp - Integer expressions as polynomials ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the evaluation of index arithmetic, and what it rests on: signed overflow is undefined, so
// that a polynomial is the value; unsigned arithmetic is one modulo 2^bits, until a comparison, a
// division or a widening needs the value itself.
//
//===----------------------------------------------------------------------===//
#include "Points.h"
#include "ThreadReader.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace clang;

namespace kbopt::raise {

const Expr *strip(const Expr *expr) {
  while (expr) {
    const Expr *inner = expr->IgnoreParenImpCasts();
    if (const auto *pseudo = llvm::dyn_cast<PseudoObjectExpr>(inner))
      inner = pseudo->getSyntacticForm();
    else if (const auto *opaque = llvm::dyn_cast<OpaqueValueExpr>(inner);
             opaque && opaque->getSourceExpr())
      inner = opaque->getSourceExpr();
    else if (const auto *full = llvm::dyn_cast<FullExpr>(inner))
      inner = full->getSubExpr();
    else if (const auto *temporary = llvm::dyn_cast<MaterializeTemporaryExpr>(inner))
      inner = temporary->getSubExpr();
    else if (const auto *substituted = llvm::dyn_cast<SubstNonTypeTemplateParmExpr>(inner))
      inner = substituted->getReplacement();
    if (inner == expr)
      return expr;
    expr = inner;
  }
  return expr;
}

const VarDecl *variableOf(const Expr *expr) {
  const auto *reference = llvm::dyn_cast_or_null<DeclRefExpr>(expr ? strip(expr) : nullptr);
  return reference ? llvm::dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

std::optional<VarId> gridVariable(const Expr *expr) {
  const Expr *base = nullptr;
  llvm::StringRef component;
  if (const auto *property = llvm::dyn_cast<MSPropertyRefExpr>(strip(expr))) {
    base = property->getBaseExpr();
    component = property->getPropertyDecl()->getName();
  } else if (const auto *member = llvm::dyn_cast<MemberExpr>(strip(expr));
             member && member->getMemberDecl()->getIdentifier()) {
    base = member->getBase();
    component = member->getMemberDecl()->getName();
  } else {
    return std::nullopt;
  }
  const VarDecl *variable = variableOf(base);
  if (!variable || variable->isLocalVarDeclOrParm() || component.size() != 1 ||
      component[0] < 'x' || component[0] > 'z')
    return std::nullopt;
  int first = llvm::StringSwitch<int>(variable->getName())
                  .Case("threadIdx", analysis::TidVar)
                  .Case("blockIdx", analysis::BidVar)
                  .Case("blockDim", analysis::BdimVar)
                  .Case("gridDim", analysis::GdimVar)
                  .Default(-1);
  if (first < 0)
    return std::nullopt;
  return VarId(first + component[0] - 'x');
}

//===-- Expressions -------------------------------------------------------===//

Integer ThreadReader::ofType(Poly poly, QualType type, bool isExact) const {
  return {std::move(poly), unsigned(ast.getTypeSize(type)),
          type->isSignedIntegerOrEnumerationType(), isExact};
}

std::optional<Integer> ThreadReader::convert(Integer value, QualType type) {
  if (!type->isIntegralOrEnumerationType() || type->isBooleanType())
    return std::nullopt;
  Integer result = ofType(value.poly, type, value.isExact);
  if (result.bits < 32)
    return std::nullopt;
  if (result.bits > value.bits && !value.isExact)
    return std::nullopt; // the caller demands first
  auto [low, high] = limits(result);
  if (value.isExact && space.isWithin(value.poly, low, high))
    return result;
  bool keepsSign =
      value.isSigned == result.isSigned || (!value.isSigned && result.bits > value.bits);
  if (result.bits < value.bits || !keepsSign)
    result.isExact = value.isExact && isNonNegative(value.poly, false) &&
                     result.bits >= value.bits &&
                     (result.isSigned ? result.bits > value.bits : true);
  return result;
}

std::optional<Integer> ThreadReader::evaluate(const Expr *expr) {
  if (failed() || !expr->getType()->isIntegralOrEnumerationType() ||
      expr->getType()->isBooleanType())
    return std::nullopt;
  if (const Value *value = nested.empty() ? nullptr : nestedValue(expr))
    return value->kind == Value::Number ? std::optional(value->number) : std::nullopt;
  Expr::EvalResult constant;
  if (!expr->isValueDependent() && expr->EvaluateAsInt(constant, ast, Expr::SE_NoSideEffects)) {
    llvm::APSInt value = constant.Val.getInt();
    if (!value.isRepresentableByInt64())
      return std::nullopt;
    return ofType(Poly::constant(value.getExtValue()), expr->getType(), true);
  }
  const Expr *inner = expr->IgnoreParens();
  if (auto *cast = llvm::dyn_cast<CastExpr>(inner)) {
    const Expr *operand = cast->getSubExpr();
    bool isConversion = cast->getCastKind() == CK_IntegralCast || cast->getCastKind() == CK_NoOp ||
                        cast->getCastKind() == CK_LValueToRValue;
    if (!isConversion)
      return std::nullopt;
    std::optional<Integer> value = evaluate(operand);
    if (!value || cast->getCastKind() == CK_LValueToRValue)
      return value;
    bool widens = ast.getTypeSize(expr->getType()) > value->bits;
    bool leavesSigned = !value->isExact && widens;
    if (leavesSigned && !demand(*value, operand))
      return std::nullopt;
    return convert(*value, expr->getType());
  }
  if (std::optional<VarId> var = gridVariable(inner))
    return Integer{Poly::variable(*var), 32, false, true};
  inner = strip(inner);
  if (auto *reference = llvm::dyn_cast<DeclRefExpr>(inner)) {
    auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
    if (variable && variable->getName() == "warpSize" && !variable->isLocalVarDeclOrParm())
      return Integer{Poly::constant(32), 32, true, true};
    auto at = values.find(variable);
    if (at == values.end() || at->second.kind != Value::Number)
      return std::nullopt;
    return at->second.number;
  }
  if (auto *binary = llvm::dyn_cast<BinaryOperator>(inner))
    return evaluateBinary(binary);
  if (auto *unary = llvm::dyn_cast<UnaryOperator>(inner); unary && unary->getOpcode() != UO_Deref) {
    std::optional<Integer> value;
    if (unary->getOpcode() == UO_Minus || unary->getOpcode() == UO_Plus)
      value = evaluate(unary->getSubExpr());
    if (!value || unary->getOpcode() == UO_Plus)
      return value;
    return arithmetic(BO_Sub, ofType({}, unary->getType(), true), *value, unary->getType(), unary);
  }
  if (auto *choice = llvm::dyn_cast<ConditionalOperator>(inner)) { // of a template, by an argument
    bool isTaken;
    if (choice->isValueDependent() || !choice->getCond()->EvaluateAsBooleanCondition(isTaken, ast))
      return std::nullopt;
    return evaluate(isTaken ? choice->getTrueExpr() : choice->getFalseExpr());
  }
  if (auto *call = llvm::dyn_cast<CallExpr>(inner))
    return evaluateCall(call);
  if (llvm::isa<MemberExpr, ArraySubscriptExpr>(inner))
    if (std::optional<Integer> known = evaluateInView(llvm::cast<Expr>(inner)))
      return known;
  if (llvm::isa<MemberExpr, ArraySubscriptExpr>(inner))
    if (std::optional<Integer> field = evaluateField(llvm::cast<Expr>(inner)))
      return field;
  if (mayLoad && (llvm::isa<ArraySubscriptExpr>(inner) || llvm::isa<UnaryOperator>(inner)))
    return evaluateLoad(inner);
  if (inner != expr->IgnoreParens())
    return evaluate(inner);
  return std::nullopt;
}

std::optional<Integer> ThreadReader::evaluateIndex(const Expr *expr) {
  bool outer = std::exchange(mayLoad, before != nullptr);
  size_t placed = before ? before->size() : 0;
  std::optional<Integer> value = evaluate(expr);
  mayLoad = outer;
  if (!value && before && before->size() > placed) {
    before->resize(placed);
    loadedIndices.clear();
  }
  QualType type = expr->getType();
  if (value || failed() || !before || !type->isIntegralOrEnumerationType() || type->isBooleanType())
    return value;
  // An integer of its own, computed as it is written.
  Statement let;
  let.kind = Statement::Let;
  let.type = typeText(type.getUnqualifiedType());
  let.value = textOf(expr, *before);
  if (failed())
    return std::nullopt;
  let.name = uniqueName("index");
  let.symbol = addVarying(let.name, type);
  before->push_back(std::move(let));
  return ofType(Poly::variable(*before->back().symbol), type, true);
}

VarId ThreadReader::addVarying(const std::string &name, QualType type) {
  Space::Variable symbol;
  symbol.kind = Space::Varying;
  symbol.name = name;
  symbol.bits = ast.getTypeSize(type);
  symbol.isSigned = type->isSignedIntegerOrEnumerationType();
  if (symbol.bits < 32) { // an int as soon as it is used
    symbol.low = symbol.isSigned ? -(int64_t(1) << (symbol.bits - 1)) : 0;
    symbol.high = (int64_t(1) << (symbol.bits - symbol.isSigned)) - 1;
    symbol.bits = 32;
    symbol.isSigned = true;
    return space.add(symbol);
  }
  if (!symbol.isSigned)
    symbol.low = 0;
  if (symbol.bits == 32) {
    symbol.low = symbol.isSigned ? (int64_t)INT32_MIN : 0;
    symbol.high = symbol.isSigned ? (int64_t)INT32_MAX : (int64_t)UINT32_MAX;
  }
  return space.add(symbol);
}

std::optional<Integer> ThreadReader::evaluateLoad(const Expr *expr) {
  QualType type = expr->getType();
  if (!before || type.isVolatileQualified())
    return std::nullopt;
  std::optional<Operand> element = evaluateElement(expr);
  if (!element || element->base.memory == Base::Shared)
    return std::nullopt;
  auto [known, isNew] =
      loadedIndices.try_emplace({before, element->base.name, space.text(element->offset)}, 0);
  if (isNew) {
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName(element->base.name + "_index");
    let.type = element->type;
    let.value = {"$0", {*element}};
    let.symbol = known->second = addVarying(let.name, type);
    before->push_back(std::move(let));
    loadedForIndex.push_back(element->base);
  }
  return ofType(Poly::variable(known->second), type, true);
}

std::optional<Integer> ThreadReader::evaluateBinary(const BinaryOperator *binary) {
  if (binary->isAssignmentOp() || binary->isLogicalOp() || binary->isComparisonOp() ||
      binary->isCommaOp())
    return std::nullopt;
  std::optional<Integer> left = evaluate(binary->getLHS());
  if (!left)
    return std::nullopt;
  std::optional<Integer> right = evaluate(binary->getRHS());
  if (!right)
    return std::nullopt;
  return arithmetic(binary->getOpcode(), *left, *right, binary->getType(), binary);
}

bool ThreadReader::isMultiple(const Poly &size, const Poly &divisor) {
  bool isProduct =
      size.monomials().size() == 1 && size.monomials().begin()->second == 1 && !size.isConstant();
  if (!isProduct || !divisor.isConstant() || divisor.constantTerm() < 2 ||
      !llvm::all_of(size.monomials().begin()->first,
                    [&](VarId var) { return space[var].kind == Space::Param; }))
    return false;
  program.dividesSizes = true;
  if (side != LaunchSide::Multiples)
    return false;
  require(Poly() - space.mod(size, divisor));
  return true;
}

Poly ThreadReader::joinMultiples(const Poly &poly) {
  for (VarId var : wholeQuotients) {
    Poly factor = poly.coefficientOf(var);
    std::optional<Poly> whole =
        factor.isValid() ? exactQuotient(factor, space[var].divisor) : std::nullopt;
    if (whole && !(*whole == Poly()))
      return joinMultiples(poly.without(var) + *whole * Poly(space[var].dividend));
  }
  return poly;
}

std::optional<Integer> ThreadReader::arithmetic(BinaryOperatorKind opcode, Integer left,
                                                Integer right, QualType type, const Expr *shown) {
  bool isModular = type->isUnsignedIntegerOrEnumerationType();
  bool isRing = opcode == BO_Add || opcode == BO_Sub || opcode == BO_Mul;
  if (!isModular || !isRing)
    if (!demand(left, shown) || !demand(right, shown))
      return std::nullopt;
  auto ring = [&](Poly poly) {
    poly = simplify(poly);
    // Of unsigned values, only what cannot leave the type stays exact.
    Integer result = ofType(poly, type, true);
    result.isExact =
        !isModular || space.isWithin(poly, limits(result).first, limits(result).second);
    return result;
  };
  std::optional<int64_t> constant;
  if (right.poly.isConstant())
    constant = right.poly.constantTerm();
  bool isPower = constant && *constant >= 0 && *constant < 31;
  auto quotient = [&](const Poly &dividend, const Poly &divisor) {
    Poly result = space.floorDiv(dividend, divisor);
    if (isMultiple(dividend, divisor))
      wholeQuotients.insert(result.monomials().begin()->first[0]);
    return ofType(result, type, true);
  };
  auto remainder = [&](const Poly &dividend, const Poly &divisor) {
    return ofType(isMultiple(dividend, divisor) ? Poly() : space.mod(dividend, divisor), type,
                  true);
  };
  switch (opcode) {
  case BO_Add:
    return ring(left.poly + right.poly);
  case BO_Sub:
    return ring(left.poly - right.poly);
  case BO_Mul:
    return ring(left.poly * right.poly);
  case BO_Shl:
    return isPower ? std::optional(ring(left.poly * Poly::constant(1 << *constant))) : std::nullopt;
  case BO_Shr:
    if (!isPower || !isNonNegative(left.poly, true))
      return std::nullopt;
    return quotient(left.poly, Poly::constant(1 << *constant));
  case BO_And:
    // x & ~3 is x - x % 4.
    if (int64_t low =
            constant ? -*constant + (type->isUnsignedIntegerType() && ast.getTypeSize(type) == 32
                                         ? int64_t(1) << 32
                                         : 0)
                     : 0;
        low > 1 && low < INT32_MAX && llvm::isPowerOf2_64(low) && isNonNegative(left.poly, true))
      return ofType(simplify(left.poly - remainder(left.poly, Poly::constant(low)).poly), type,
                    true);
    if (!constant || !llvm::isPowerOf2_64(*constant + 1) || !isNonNegative(left.poly, true))
      return std::nullopt;
    return remainder(left.poly, right.poly + Poly::constant(1));
  case BO_Div:
  case BO_Rem:
    left.poly = expandRemainders(left.poly);
    if (constant == 1 || isKnownMultiple(left.poly, right.poly))
      return opcode == BO_Div ? quotient(left.poly, right.poly) : ofType(Poly(), type, true);
    if (!isNonNegative(left.poly, true) || !isPositive(right.poly))
      return std::nullopt;
    return opcode == BO_Div ? quotient(left.poly, right.poly) : remainder(left.poly, right.poly);
  default:
    return std::nullopt;
  }
}

llvm::StringRef calleeName(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  const IdentifierInfo *identifier = callee ? callee->getIdentifier() : nullptr;
  return identifier ? identifier->getName() : llvm::StringRef();
}

const Expr *onlyReturn(const FunctionDecl *function) {
  const auto *body = llvm::dyn_cast_or_null<CompoundStmt>(function->getBody());
  if (!body || body->size() != 1)
    return nullptr;
  const auto *result = llvm::dyn_cast<ReturnStmt>(body->body_front());
  return result ? result->getRetValue() : nullptr;
}

std::optional<Integer> ThreadReader::evaluateCall(const CallExpr *call) {
  llvm::StringRef name = calleeName(call);
  if (llvm::isa<MemberExpr>(call->getCallee()->IgnoreParenImpCasts()))
    if (std::optional<Integer> value = evaluateGroup(call))
      return value;
  if ((name == "__mul24" || name == "__umul24") && call->getNumArgs() == 2) {
    std::optional<Integer> left = evaluate(call->getArg(0)), right = evaluate(call->getArg(1));
    if (!left || !right)
      return std::nullopt;
    for (Integer *factor : {&*left, &*right}) {
      if (!demand(*factor, call))
        return std::nullopt;
      program.obligations.push_back({factor->poly, name == "__mul24" ? -(1 << 23) : 0,
                                     name == "__mul24" ? (1 << 23) - 1 : (1 << 24) - 1,
                                     "a factor of " + name.str() + " fits 24 bits"});
    }
    return ofType(left->poly * right->poly, call->getType(), true);
  }
  const FunctionDecl *callee = call->getDirectCallee();
  bool isMax = name == "max";
  if ((isMax || name == "min") && call->getNumArgs() == 2 && callee &&
      ast.getSourceManager().isInSystemHeader(callee->getLocation())) {
    std::optional<Integer> left = evaluate(call->getArg(0)), right = evaluate(call->getArg(1));
    if (!left || !right || !demand(*left, call) || !demand(*right, call))
      return std::nullopt;
    if (isNonNegative(left->poly - right->poly, false))
      return ofType(isMax ? left->poly : right->poly, call->getType(), true);
    if (isNonNegative(right->poly - left->poly, false))
      return ofType(isMax ? right->poly : left->poly, call->getType(), true);
    return std::nullopt;
  }
  const Expr *result = callee && callee->isDefined(callee) ? onlyReturn(callee) : nullptr;
  llvm::SmallVector<const Expr *> given(call->arguments());
  const Expr *called = nullptr;
  std::optional<View> seen;
  if (!result || inlineDepth > 4)
    return std::nullopt;
  if (const auto *method = llvm::dyn_cast<CXXMethodDecl>(callee)) // also a lambda or a functor
    if (!bindObject(call, method, given, called, seen))
      return std::nullopt;
  llvm::SmallVector<Integer> arguments;
  for (const Expr *argument : given) {
    std::optional<Integer> value = evaluate(argument);
    if (!value)
      return std::nullopt;
    arguments.push_back(*value);
  }
  for (auto [parameter, value] : llvm::zip_equal(callee->parameters(), arguments)) {
    if (parameter->getType()->isReferenceType() &&
        !parameter->getType().getNonReferenceType().isConstQualified())
      return std::nullopt;
    values[parameter] = {Value::Number, value, {}, {}};
  }
  llvm::SaveAndRestore depth(inlineDepth, inlineDepth + 1);
  llvm::SaveAndRestore outerObject(object, called ? called : object);
  llvm::SaveAndRestore<const View *> outerView(view, seen ? &*seen : called ? nullptr : view);
  return evaluate(result);
}

} // namespace kbopt::raise
