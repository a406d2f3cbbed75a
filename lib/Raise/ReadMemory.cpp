//===- ReadMemory.cpp - Pointers and elements ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the evaluation of pointers to a base and an offset in elements.
//
//===----------------------------------------------------------------------===//
#include "Points.h"
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "clang/AST/RecordLayout.h"

using namespace clang;

namespace kbopt::raise {

std::optional<Pointer> ThreadReader::evaluateArray(const Expr *expr) {
  expr = strip(expr);
  if (const VarDecl *variable = variableOf(expr)) {
    auto at = values.find(variable);
    if (at != values.end() && at->second.kind == Value::Address)
      return at->second.address;
    if (!variable->hasGlobalStorage() || variable->isLocalVarDecl())
      return std::nullopt;
    Pointer pointer;
    pointer.base.kind = kb::BaseKind::Global;
    pointer.base.name = variable->getName();
    if (llvm::isa<VarTemplateSpecializationDecl>(variable)) {
      llvm::raw_string_ostream os(pointer.base.name = "");
      variable->getNameForDiagnostic(os, ast.getPrintingPolicy(), /*Qualified=*/true);
    }
    pointer.base.memory = variable->hasAttr<CUDAConstantAttr>() ? Base::Constant : Base::Global;
    pointer.element = variable->getType();
    return pointer;
  }
  if (const auto *member = llvm::dyn_cast<MemberExpr>(expr))
    return fieldPlace(member);
  const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(expr);
  if (!subscript)
    return std::nullopt;
  std::optional<Pointer> outer = evaluatePointer(subscript->getBase());
  std::optional<Integer> index = evaluateIndex(subscript->getIdx());
  if (!outer || !index || !demand(*index, subscript->getIdx()))
    return std::nullopt;
  outer->offset = simplify(outer->offset + index->poly * Poly::constant(outer->parts));
  return outer;
}

std::optional<Pointer> ThreadReader::evaluatePointer(const Expr *expr) {
  expr = expr->IgnoreParens();
  if (const Value *value = nested.empty() ? nullptr : nestedValue(expr);
      value && value->kind == Value::Address)
    return value->address;
  if (auto *cast = llvm::dyn_cast<CastExpr>(expr)) {
    const Expr *operand = cast->getSubExpr();
    if (cast->getCastKind() == CK_ArrayToPointerDecay) {
      std::optional<Pointer> array = evaluateArray(operand);
      if (array && !array->whole.isNull() && array->whole->isArrayType()) { // a field
        setPointee(*array, expr->getType()->getPointeeType().getUnqualifiedType());
        return array;
      }
      const auto *type = array ? ast.getAsConstantArrayType(array->element) : nullptr;
      if (array && !type)
        return array->element->isArrayType() ? std::nullopt : array; // extern __shared__ x[]
      if (!type)
        return std::nullopt;
      array->offset = array->offset * Poly::constant(type->getSize().getZExtValue());
      array->element = type->getElementType();
      return array;
    }
    if (cast->getCastKind() == CK_LValueToRValue || cast->getCastKind() == CK_NoOp ||
        cast->getCastKind() == CK_BitCast) {
      std::optional<Pointer> pointer = evaluatePointer(operand);
      if (!pointer || cast->getCastKind() != CK_BitCast)
        return pointer;
      std::optional<Pointer> converted = castPointer(*pointer, expr->getType()->getPointeeType());
      if (!converted)
        converted = castShared(*pointer, expr->getType()->getPointeeType());
      return converted ? converted : castGiven(*pointer, expr->getType()->getPointeeType());
    }
    return std::nullopt;
  }
  if (const VarDecl *variable = variableOf(expr)) {
    auto at = values.find(variable);
    if (at == values.end() || at->second.kind != Value::Address)
      return std::nullopt;
    return at->second.address;
  }
  if (auto *binary = llvm::dyn_cast<BinaryOperator>(expr); binary && binary->isAdditiveOp()) {
    bool isLeft = binary->getLHS()->getType()->isPointerType();
    const Expr *side = isLeft ? binary->getLHS() : binary->getRHS(),
               *offset = isLeft ? binary->getRHS() : binary->getLHS();
    std::optional<Pointer> pointer = evaluatePointer(side);
    if (!pointer)
      return std::nullopt;
    std::optional<Integer> index = evaluateIndex(offset);
    if (!index || !demand(*index, offset))
      return std::nullopt;
    Poly by = index->poly * Poly::constant(pointer->parts);
    pointer->offset =
        simplify(binary->getOpcode() == BO_Add ? pointer->offset + by : pointer->offset - by);
    return pointer;
  }
  if (auto *choice = llvm::dyn_cast<ConditionalOperator>(expr)) { // of a template, by an argument
    bool isTaken = false;
    if (choice->isValueDependent() || !choice->getCond()->EvaluateAsBooleanCondition(isTaken, ast))
      return std::nullopt;
    return evaluatePointer(isTaken ? choice->getTrueExpr() : choice->getFalseExpr());
  }
  if (auto *unary = llvm::dyn_cast<UnaryOperator>(expr); unary && unary->getOpcode() == UO_AddrOf) {
    const Expr *lvalue = unary->getSubExpr()->IgnoreParens();
    if (variableOf(lvalue) && !lvalue->getType()->isArrayType() &&
        !lvalue->getType()->isPointerType())
      return evaluateArray(
          lvalue); // a reference to an element, or a variable in shared or global memory
    if (llvm::isa<ArraySubscriptExpr, MemberExpr>(lvalue))
      return evaluateArray(lvalue);
    if (auto *deref = llvm::dyn_cast<UnaryOperator>(lvalue);
        deref && deref->getOpcode() == UO_Deref)
      return evaluatePointer(deref->getSubExpr());
    return std::nullopt;
  }
  if (auto *member = llvm::dyn_cast<MemberExpr>(expr)) {
    if (const ViewPart *part = fieldOfView(member))
      return part->value && part->value->kind == Value::Address
                 ? std::optional(part->value->address)
                 : std::nullopt;
    return fieldPointer(member);
  }
  if (llvm::isa<ArraySubscriptExpr>(expr))
    return fieldPointer(expr);
  if (auto *call = llvm::dyn_cast<CallExpr>(expr))
    return placeOfCall(call);
  return std::nullopt;
}

std::optional<Pointer> ThreadReader::fieldPointer(const Expr *lvalue) {
  FieldOfParameter place;
  if (!lvalue->getType()->isPointerType() || !isFixedPlace(lvalue) || !readPlace(lvalue, place))
    return std::nullopt;
  Pointer pointer;
  pointer.base.kind = kb::BaseKind::Argument;
  pointer.base.name = place.text;
  pointer.base.argument = place.parameter->getFunctionScopeIndex();
  pointer.base.byteOffset = place.offset;
  pointer.element = lvalue->getType()->getPointeeType();
  return pointer;
}

std::optional<Pointer> ThreadReader::castShared(Pointer pointer, QualType to) {
  auto isByte = [&](QualType type) {
    return type->isCharType() || (type->isEnumeralType() && ast.getTypeSize(type) == 8);
  };
  if (pointer.base.memory != Base::Shared || pointer.parts != 1 || !(pointer.offset == Poly()) ||
      to->isVoidType() || to->isIncompleteType() || isByte(to) || to.isVolatileQualified())
    return std::nullopt;
  auto array = llvm::find_if(
      program.shared, [&](const SharedArray &each) { return each.name == pointer.base.name; });
  bool isOpen = array != program.shared.end() && !array->elements.isValid();
  std::string type = typeText(to.getUnqualifiedType());
  auto known = castTypes.find(pointer.base.name);
  bool isFirst = known == castTypes.end();
  if (!isOpen || !isByte(pointer.element) || (!isFirst && known->second != type))
    return std::nullopt;
  castTypes[pointer.base.name] = array->type = type;
  pointer.element = to;
  return pointer;
}

std::optional<Poly> ThreadReader::wholeElements(const Poly &bytes, const Poly &size) {
  Poly sum;
  for (auto &[monomial, coefficient] : bytes.monomials()) {
    Poly term = Poly::constant(coefficient);
    for (VarId var : monomial)
      term = term * Poly::variable(var);
    std::optional<Poly> whole = exactQuotient(term, size);
    auto pitch =
        llvm::find_if(monomial, [&](VarId var) { return space[var].kind == Space::Param; });
    if (!whole && pitch == monomial.end())
      return std::nullopt;
    if (!whole) { // rows that are a pitch apart hold whole elements
      Poly stride = Poly::variable(*pitch);
      if (!isNonNegative(stride, true))
        return std::nullopt;
      require(Poly() - space.mod(stride, size));
      whole = term.coefficientOf(*pitch) * space.floorDiv(stride, size);
    }
    sum = sum + *whole;
  }
  return sum;
}

std::optional<Pointer> ThreadReader::castGiven(Pointer pointer, QualType to) {
  std::optional<VectorShape> shape = vectorShape(to);
  bool isVector = shape && !shape->scalar.isNull();
  QualType element = isVector ? shape->scalar : to, from = pointer.element;
  auto isPlain = [](QualType type) {
    return !type->isIncompleteType() && !type->isArrayType() && !type.isVolatileQualified();
  };
  const auto *record = to->getAsCXXRecordDecl();
  bool isHalf = record && record->getIdentifier() &&
                (record->getName() == "__half" || record->getName() == "__nv_bfloat16");
  bool isElement = isVector || isHalf || (to->isArithmeticType() && !to->isBooleanType());
  if (pointer.base.kind != kb::BaseKind::Argument || pointer.base.memory != Base::Global ||
      to.isVolatileQualified() || !isElement || !isPlain(element) ||
      !(from->isVoidType() || isPlain(from)))
    return std::nullopt;
  int64_t before = from->isVoidType() ? 1 : ast.getTypeSizeInChars(from).getQuantity();
  int64_t after = ast.getTypeSizeInChars(element).getQuantity();
  std::optional<Poly> offset =
      wholeElements(pointer.offset * Poly::constant(before), Poly::constant(after));
  if (!offset || before == after)
    return std::nullopt;
  pointer.offset = *offset;
  pointer.element = element;
  pointer.parts = isVector ? shape->fields.size() : 1;
  pointer.whole = isVector ? to : QualType();
  castGivens.insert(pointer.base.name);
  return pointer;
}

void ThreadReader::checkCastShared() {
  if (castTypes.empty())
    return;
  walk(program.body, [&](Statement &each) {
    forEachOperand(each, [&](Operand &operand) {
      auto known =
          operand.base.memory == Base::Shared ? castTypes.find(operand.base.name) : castTypes.end();
      if (known != castTypes.end() && operand.type != known->second)
        refuse("the shared memory '" + operand.base.name +
               "' is used as elements of several types");
    });
    return true;
  });
}

Operand ThreadReader::elementAt(const Pointer &pointer) const {
  Operand operand;
  operand.kind = Operand::Element;
  operand.base = pointer.base;
  operand.offset = pointer.offset;
  operand.type = typeText(pointer.element.getUnqualifiedType());
  operand.bytes = ast.getTypeSizeInChars(pointer.element).getQuantity();
  return operand;
}

std::optional<Operand> ThreadReader::evaluateElement(const Expr *lvalue) {
  lvalue = strip(lvalue);
  std::optional<Pointer> pointer;
  if (llvm::isa<ArraySubscriptExpr, MemberExpr>(lvalue))
    pointer = evaluateArray(lvalue);
  else if (const auto *call = llvm::dyn_cast<CallExpr>(lvalue))
    pointer = placeOfCall(call);
  else if (auto *unary = llvm::dyn_cast<UnaryOperator>(lvalue);
           unary && unary->getOpcode() == UO_Deref)
    pointer = evaluatePointer(unary->getSubExpr());
  else if (const VarDecl *variable = variableOf(lvalue);
           variable && !variable->getType()->isArrayType() &&
           (variable->getType()->isReferenceType() ||
            (variable->hasGlobalStorage() && !variable->getType().isConstQualified())))
    pointer = evaluateArray(lvalue);
  if (!pointer || pointer->parts > 1 || pointer->element.isVolatileQualified() ||
      pointer->element->isArrayType())
    return std::nullopt;
  return elementAt(*pointer);
}

} // namespace kbopt::raise
