//===- HostExpressions.cpp - Expressions of the host -----------------------===//
#include "HostEvaluator.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::APFloat;
using llvm::APInt;
using llvm::APSInt;

static std::string printed(const Expr *expr, const ASTContext &ast) {
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
  if (++work > 200000)
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
    return refuse(expr, "'" + printed(expr, ast) + "' is not followed");
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
  return refuse(expr, "the launch does not tell what '" + printed(expr, ast) + "' is");
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
    changesState |= variable->isStaticLocal(); // whoever asks writes
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
  return refuse(expr, "the conversion '" + printed(expr, ast) + "' is not followed");
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
  return refuse(operand, "the address of '" + printed(operand, ast) + "' is not followed");
}

HostEvaluator::Result HostEvaluator::unary(const UnaryOperator *expr) {
  const Expr *operand = expr->getSubExpr();
  if (expr->getOpcode() == UO_AddrOf)
    return addressOf(operand);
  if (expr->isIncrementDecrementOp()) {
    HostValue *target = place(operand);
    if (!target || !target->index())
      return refuse(expr,
                    "'" + printed(operand, ast) + "' is not a variable of the new statements");
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
  return refuse(expr, "'" + printed(expr, ast) + "' is not followed");
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
  return refuse(place, "'" + printed(place, ast) + "' is not followed");
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
  return refuse(place, "'" + printed(place, ast) + "' is not followed");
}

HostEvaluator::Result HostEvaluator::assign(const BinaryOperator *expr) {
  if (!place(expr->getLHS()))
    return refuse(expr,
                  "'" + printed(expr->getLHS(), ast) + "' is not a variable of the new statements");
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

HostEvaluator::Result HostEvaluator::construct(const CXXConstructExpr *expr) {
  if (!isDim3(expr->getType()))
    return constructRecord(expr);
  kbrt::Dim3 value;
  uint32_t *components[] = {&value.x, &value.y, &value.z};
  for (unsigned i = 0; i < expr->getNumArgs(); ++i) {
    Result each = i < 3 ? evaluate(expr->getArg(i)) : std::nullopt;
    const auto *component = each ? std::get_if<APSInt>(&*each) : nullptr;
    if (!component)
      return refuse(expr, "'" + printed(expr, ast) + "' is not followed");
    *components[i] = static_cast<uint32_t>(component->extOrTrunc(64).getZExtValue());
  }
  return value;
}

/// A record of numbers without gaps, whose constructor the program defines: a divisor that the host
/// prepares.
HostEvaluator::Result HostEvaluator::constructRecord(const CXXConstructExpr *expr) {
  const FunctionDecl *definition = nullptr;
  const CXXRecordDecl *record = expr->getConstructor()->getParent();
  const std::string name = record->getNameAsString();
  if (!expr->getConstructor()->hasBody(definition) || record->getNumBases() || record->isUnion() ||
      record->isDynamicClass() || program.sources().isInSystemHeader(definition->getLocation()))
    return refuse(expr, "the launch does not tell what '" + name + "' is");
  const auto *constructor = cast<CXXConstructorDecl>(definition);
  std::optional<Frame> frame = frameOf(expr, constructor, {expr->getArgs(), expr->getNumArgs()});
  if (!frame)
    return std::nullopt;
  frames.push_back(std::move(*frame));
  bool isComplete = true;
  for (const CXXCtorInitializer *each : constructor->inits()) {
    Result value = each->isMemberInitializer() ? evaluate(each->getInit()) : std::nullopt;
    isComplete &= value.has_value();
    if (value)
      frames.back().object[each->getMember()] = std::move(*value);
  }
  const Flow flow = isComplete ? execute(constructor->getBody()) : Flow::Stop;
  const std::map<const FieldDecl *, HostValue> object = std::move(frames.back().object);
  frames.pop_back();
  if (flow != Flow::Next && flow != Flow::Return)
    return refuse(expr, "how '" + name + "' is made is not followed");
  Bytes result;
  for (const FieldDecl *field : record->fields()) {
    auto value = object.find(field);
    auto bytes = value == object.end() || field->isBitField()
                     ? std::nullopt
                     : bytesOf(value->second, field->getType(), ast);
    if (!bytes || ast.getFieldOffset(field) != 8 * result.bytes.size())
      return refuse(expr, "a '" + name + "' has members or gaps whose bytes are not known");
    llvm::append_range(result.bytes, *bytes);
  }
  if (result.bytes.size() != size_t(ast.getTypeSizeInChars(expr->getType()).getQuantity()))
    return refuse(expr, "a '" + name + "' has gaps whose bytes are not known");
  return result;
}

HostEvaluator::Result HostEvaluator::member(const MemberExpr *expr) {
  const auto *field = dyn_cast<FieldDecl>(expr->getMemberDecl());
  if (field && isa<CXXThisExpr>(ast::strip(expr->getBase())))
    if (const HostValue &known = frames.back().object[field]; known.index())
      return known;
  if (!field || expr->isArrow() || field->isBitField())
    return refuse(expr, "the launch does not tell what '" + printed(expr, ast) + "' is");
  Result base = evaluate(expr->getBase());
  if (!base)
    return std::nullopt;
  if (const auto *extents = std::get_if<kbrt::Dim3>(&*base); extents && field->getIdentifier()) {
    const llvm::StringRef name = field->getName();
    return integerOf(name == "x"   ? extents->x
                     : name == "y" ? extents->y
                                   : extents->z,
                     expr->getType(), ast);
  }
  const auto *record = std::get_if<Bytes>(&*base);
  const uint64_t offset = ast.getFieldOffset(field) / 8,
                 size = ast.getTypeSizeInChars(field->getType()).getQuantity();
  if (!record || offset + size > record->bytes.size())
    return refuse(expr, "the launch does not tell what '" + printed(expr, ast) + "' is");
  return valueOf(llvm::ArrayRef(record->bytes).slice(offset, size), field->getType(), ast);
}

std::optional<bool> HostEvaluator::truth(const Expr *expr) {
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (const auto *integer = std::get_if<APSInt>(&*value))
    return !integer->isZero();
  return refuse(expr, "'" + printed(expr, ast) + "' is not followed");
}

std::optional<uint64_t> HostEvaluator::natural(const Expr *expr) {
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  const auto *integer = std::get_if<APSInt>(&*value);
  if (integer && !integer->isNegative() && integer->getActiveBits() <= 64)
    return integer->getZExtValue();
  return refuse(expr, "'" + printed(expr, ast) + "' is no size");
}

std::optional<uint64_t> HostEvaluator::address(const Expr *expr) {
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (const auto *pointer = std::get_if<Address>(&*value))
    return pointer->value;
  return refuse(expr, "'" + printed(expr, ast) + "' is no pointer to device memory");
}

std::optional<kbrt::Dim3> HostEvaluator::extents(const Expr *expr) {
  Result value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (const auto *shape = std::get_if<kbrt::Dim3>(&*value))
    return *shape;
  return refuse(expr, "'" + printed(expr, ast) + "' is no grid or block");
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
  return refuse(expr, "the launch does not tell what stream '" + printed(expr, ast) + "' is");
}
