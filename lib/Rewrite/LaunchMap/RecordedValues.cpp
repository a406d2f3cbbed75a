//===- RecordedValues.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RecordedValues.h"
#include "../Schedule/LaunchText.h"
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;
using llvm::APFloat;
using llvm::APSInt;
using llvm::StringRef;

StringRef ExprFacts::key(const Expr *expr, const ASTContext &ast) {
  auto [entry, isNew] = keys.try_emplace(expr);
  if (isNew) {
    std::string text;
    llvm::raw_string_ostream os(text);
    const Expr *written = ast::strip(expr);
    while (const Expr *inner = passedOn(written))
      written = ast::strip(inner);
    // What is converted by a cast of its own is what an argument converts without one.
    if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr->IgnoreParens()))
      if (const Expr *operand = ast::strip(cast->getSubExpr()); !isa<ExplicitCastExpr>(operand))
        written = operand;
    written->printPretty(os, nullptr, ast.getPrintingPolicy());
    os << " : "
       << expr->getType().getCanonicalType().getUnqualifiedType().getAsString(
              ast.getPrintingPolicy());
    keys[expr] = std::move(text);
    return keys[expr];
  }
  return entry->second;
}

const HostValue &ExprFacts::constant(const Expr *expr, const ASTContext &ast) {
  auto [entry, isNew] = constants.try_emplace(expr);
  QualType type = expr->getType();
  if (!isNew || expr->isValueDependent() || expr->isTypeDependent())
    return entry->second;
  if (type->isIntegralOrEnumerationType()) {
    Expr::EvalResult result;
    if (expr->EvaluateAsInt(result, ast) && !result.HasSideEffects)
      entry->second = asInteger(result.Val.getInt(), type, ast);
  } else if (type->isSpecificBuiltinType(BuiltinType::Float) ||
             type->isSpecificBuiltinType(BuiltinType::Double)) {
    APFloat result(0.0f);
    if (expr->EvaluateAsFloat(result, ast))
      entry->second = result;
  }
  return entry->second;
}

bool ExprFacts::isFixedInitialiser(const Expr *init, const FunctionDecl *function) {
  bool isFree = isRepeatable(init); // of what changes and of what memory holds
  ast::walk(init, [&](const Stmt *each) {
    const auto *unary = dyn_cast<UnaryOperator>(each);
    const auto *member = dyn_cast<MemberExpr>(each);
    isFree &= !isa<ArraySubscriptExpr>(each) && !(unary && unary->getOpcode() == UO_Deref) &&
              !(member && member->isArrow());
    if (const auto *reference = dyn_cast<DeclRefExpr>(each))
      if (const auto *named = dyn_cast<VarDecl>(reference->getDecl()))
        isFree &= named->isConstexpr() || isFixed(named, function);
    return isFree;
  });
  return isFree;
}

bool ExprFacts::isFixed(const VarDecl *variable, const FunctionDecl *function) {
  auto [known, isNew] = fixed.try_emplace(variable, false);
  if (!isNew)
    return known->second;
  const bool isConstant =
      variable->getType().isConstQualified() && variable->getType()->isIntegralOrEnumerationType();
  if (!variable->isLocalVarDeclOrParm() && !isConstant)
    return false;
  if (variable->isStaticLocal() || variable->getType()->isReferenceType() || !function ||
      !function->getBody() || (!isConstant && mayModify(function->getBody(), variable)))
    return false;
  const bool result = isa<ParmVarDecl>(variable) ||
                      (variable->hasInit() && isFixedInitialiser(variable->getInit(), function));
  fixed[variable] = result;
  return result;
}

StringRef ExprFacts::mangledName(const FunctionDecl *function) {
  std::string &name = names[function];
  if (name.empty())
    name = mangledNameOf(function);
  return name;
}

bool hostmap::isNullPointer(const Expr *expr, const ASTContext &ast) {
  return !expr || isa<CXXDefaultArgExpr>(expr) ||
         (!expr->isValueDependent() &&
          expr->IgnoreParenCasts()->isNullPointerConstant(const_cast<ASTContext &>(ast),
                                                          Expr::NPC_ValueDependentIsNotNull) !=
              Expr::NPCK_NotNull);
}

const Expr *hostmap::passedOn(const Expr *expr) {
  if (const auto *paren = dyn_cast<ParenExpr>(expr))
    return paren->getSubExpr();
  if (const auto *full = dyn_cast<FullExpr>(expr))
    return full->getSubExpr();
  if (const auto *temporary = dyn_cast<MaterializeTemporaryExpr>(expr))
    return temporary->getSubExpr();
  if (const auto *bound = dyn_cast<CXXBindTemporaryExpr>(expr))
    return bound->getSubExpr();
  if (const auto *substituted = dyn_cast<SubstNonTypeTemplateParmExpr>(expr))
    return substituted->getReplacement();
  if (const auto *construct = dyn_cast<CXXConstructExpr>(expr);
      construct && construct->getNumArgs() == 1 &&
      construct->getConstructor()->isCopyOrMoveConstructor())
    return construct->getArg(0);
  return nullptr;
}

/// The operand of \p cast, whose result is \p value, if it can be no other.
static std::optional<HostValue> operandOf(const CastExpr *cast, const HostValue &value,
                                          const ASTContext &ast) {
  QualType from = cast->getSubExpr()->getType();
  switch (cast->getCastKind()) {
  case CK_NoOp:
  case CK_LValueToRValue:
  case CK_ConstructorConversion:
    return value;
  case CK_BitCast:
    if (std::holds_alternative<Address>(value) || std::holds_alternative<StreamId>(value))
      return value;
    return std::nullopt;
  case CK_IntegralCast: {
    const auto *integer = std::get_if<APSInt>(&value);
    if (!integer || !from->isIntegralOrEnumerationType() ||
        ast.getIntWidth(from) > integer->getBitWidth())
      return std::nullopt;
    APSInt before = asInteger(*integer, from, ast);
    if (!APSInt::isSameValue(asInteger(before, cast->getType(), ast), *integer))
      return std::nullopt;
    return before;
  }
  case CK_FloatingCast: {
    const auto *number = std::get_if<APFloat>(&value);
    if (!number || ast.getTypeSize(from) > ast.getTypeSize(cast->getType()))
      return std::nullopt;
    APFloat before = *number;
    bool losesInfo = true;
    before.convert(ast.getFloatTypeSemantics(from), APFloat::rmNearestTiesToEven, &losesInfo);
    return losesInfo ? std::nullopt : std::optional<HostValue>(before);
  }
  default:
    return std::nullopt;
  }
}

/// `pointer + constant`: the pointer.
static std::optional<std::pair<const Expr *, HostValue>>
shiftedPointer(const Expr *expr, const HostValue &value, ExprFacts &facts, const ASTContext &ast) {
  const auto *sum = dyn_cast<BinaryOperator>(expr);
  const auto *address = std::get_if<Address>(&value);
  if (!sum || !address || (sum->getOpcode() != BO_Add && sum->getOpcode() != BO_Sub))
    return std::nullopt;
  const Expr *pointer = sum->getLHS(), *offset = sum->getRHS();
  if (!pointer->getType()->isPointerType())
    std::swap(pointer, offset);
  const auto *constant = std::get_if<APSInt>(&facts.constant(offset, ast));
  if (!constant || !pointer->getType()->isPointerType() ||
      pointer->getType()->getPointeeType()->isIncompleteType())
    return std::nullopt;
  const int64_t bytes = constant->getExtValue() *
                        ast.getTypeSizeInChars(pointer->getType()->getPointeeType()).getQuantity();
  return std::pair(pointer, Address{sum->getOpcode() == BO_Add ? address->value - bytes
                                                               : address->value + bytes});
}

bool RecordedValues::bindComponents(const CXXConstructExpr *construct, const kbrt::Dim3 &value,
                                    const ASTContext &ast) {
  const uint32_t components[] = {value.x, value.y, value.z};
  for (unsigned i = 0; i < std::min(construct->getNumArgs(), 3u); ++i) {
    const Expr *argument = construct->getArg(i);
    if (!argument->getType()->isIntegralOrEnumerationType())
      return true;
    if (const auto *left = dyn_cast<CXXDefaultArgExpr>(argument)) {
      if (components[i] != 1)
        return false;
      continue;
    }
    if (!bind(argument, integerOf(components[i], argument->getType(), ast), ast))
      return false;
  }
  return construct->getNumArgs() > 0;
}

bool RecordedValues::bind(const Expr *expr, HostValue value, const ASTContext &ast) {
  for (;;) {
    if (isa<CXXDefaultArgExpr>(expr))
      return true;
    if (const HostValue &constant = facts.constant(expr, ast);
        constant.index() && !isSame(constant, value))
      return false;
    auto [known, isNew] = values.try_emplace(facts.key(expr, ast), value);
    if (!isNew && !isSame(known->second, value))
      return false;
    if (isa<BinaryOperator, CastExpr, ConditionalOperator, CallExpr>(expr))
      composed.push_back({expr, value});
    if (const Expr *inner = passedOn(expr)) {
      expr = inner;
    } else if (const auto *cast = dyn_cast<CastExpr>(expr)) {
      std::optional<HostValue> before = operandOf(cast, value, ast);
      if (!before)
        return true;
      expr = cast->getSubExpr();
      value = std::move(*before);
    } else if (auto pointer = shiftedPointer(expr, value, facts, ast)) {
      expr = pointer->first;
      value = pointer->second;
    } else if (const VarDecl *variable = ast::variableOf(expr); variable && variable->hasInit() &&
                                                                !isa<ParmVarDecl>(variable) &&
                                                                facts.isFixed(variable, host)) {
      expr = variable->getInit();
    } else {
      const auto *construct = dyn_cast<CXXConstructExpr>(expr);
      const auto *extents = std::get_if<kbrt::Dim3>(&value);
      return !construct || !extents || bindComponents(construct, *extents, ast);
    }
  }
}

bool RecordedValues::addLaunch(const CUDAKernelCallExpr *call, const FunctionDecl *function,
                               const kbrt::LaunchStep &step, const ASTContext &ast) {
  host = function;
  const FunctionDecl *kernel = call->getDirectCallee();
  const CallExpr *shape = call->getConfig();
  if (!kernel || !shape || shape->getNumArgs() < 4 || facts.mangledName(kernel) != step.kernel ||
      call->getNumArgs() != step.arguments.size())
    return false;
  const Expr *shared = shape->getArg(2), *stream = shape->getArg(3);
  if (!bind(shape->getArg(0), step.grid, ast) || !bind(shape->getArg(1), step.block, ast) ||
      !bind(shared, integerOf(step.sharedBytes, shared->getType(), ast), ast))
    return false;
  if (isa<CXXDefaultArgExpr>(shared) && step.sharedBytes)
    return false;
  if (isNullPointer(stream, ast))
    noStream = step.stream;
  else if (!bind(stream, StreamId{step.stream}, ast))
    return false;
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    QualType type = kernel->getParamDecl(i)->getType();
    const std::vector<uint8_t> &bytes = step.arguments[i].bytes;
    if (type->isReferenceType() ||
        bytes.size() != size_t(ast.getTypeSizeInChars(type).getQuantity()) ||
        !bind(call->getArg(i), valueOf(bytes, type, ast), ast))
      return false;
  }
  return true;
}

const HostValue *RecordedValues::find(const Expr *expr, const ASTContext &ast) const {
  auto found = values.find(facts.key(expr, ast));
  return found == values.end() ? nullptr : &found->second;
}
