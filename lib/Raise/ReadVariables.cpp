//===- ReadVariables.cpp - Declarations of one thread ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of declarations: shared memory, pointers, references, and values that are
// followed.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/Attr.h"

using namespace clang;

namespace kbopt::raise {

void ThreadReader::readShared(const VarDecl *variable) {
  if (values.count(variable))
    return; // of a function that is called more than once
  Pointer pointer;
  pointer.base = {kb::BaseKind::Global, variable->getNameAsString(), -1, 0, Base::Shared};
  pointer.element = variable->getType();
  SharedArray shared;
  shared.name = pointer.base.name;
  QualType element = variable->getType();
  Poly elements = Poly::constant(1);
  while (const auto *array = ast.getAsArrayType(element)) {
    const auto *sized = llvm::dyn_cast<ConstantArrayType>(array);
    // An invalid polynomial stands for a size that the launch gives.
    elements = sized ? elements * Poly::constant(sized->getSize().getZExtValue())
                     : Poly::constant(INT64_MAX) * Poly::constant(2);
    element = array->getElementType();
  }
  if (const auto *array = llvm::dyn_cast<IncompleteArrayType>(variable->getType()))
    pointer.element = array->getElementType();
  shared.type = typeText(element);
  shared.elements = elements;
  splitShared(pointer,
              llvm::isa<IncompleteArrayType>(variable->getType()) ? pointer.element
                                                                  : variable->getType(),
              shared);
  program.shared.push_back(shared);
  values[variable] = {Value::Address, {}, pointer, {}};
}

void ThreadReader::readPointer(const VarDecl *variable) {
  const Expr *init = variable->getInit();
  bool isFollowed = !untracked.count(variable);
  values.erase(variable);
  pointees.erase(variable);
  if (!init && isFollowed)
    return; // assigned before it is used
  if (std::optional<Value> pointee = isFollowed ? pointeeOf(init) : std::nullopt) {
    pointees[variable] = *pointee;
    return;
  }
  std::optional<Pointer> pointer = isFollowed ? evaluatePointer(init) : std::nullopt;
  if (!pointer)
    return refuse("what '" + variable->getNameAsString() + "' points to is not understood");
  if (pointer->parts == 1)
    pointer->element = variable->getType()->getPointeeType();
  values[variable] = {Value::Address, {}, *pointer, {}};
}

/// A reference is another name for an element or for a variable of the thread.
void ThreadReader::readReference(const VarDecl *variable) {
  const Expr *init = strip(variable->getInit());
  QualType type = variable->getType().getNonReferenceType();
  values.erase(variable);
  bool isPlain = ast.hasSameUnqualifiedType(init->getType(), type);
  if (std::optional<Value> place = isPlain ? placeAt(init) : std::nullopt) {
    values[variable] = *place;
    return;
  }
  std::optional<Pointer> pointer;
  if (llvm::isa<ArraySubscriptExpr>(init))
    pointer = evaluateArray(init);
  else if (const auto *unary = llvm::dyn_cast<UnaryOperator>(init);
           unary && unary->getOpcode() == UO_Deref)
    pointer = evaluatePointer(unary->getSubExpr());
  else if (const VarDecl *other = variableOf(init); other && other->getType()->isReferenceType())
    if (auto at = values.find(other); at != values.end() && at->second.kind == Value::Address)
      pointer = at->second.address;
  bool isSame = pointer && ast.hasSameUnqualifiedType(
                               pointer->parts > 1 ? pointer->whole : pointer->element, type);
  if (!isSame || type->isArrayType() || type->isPointerType() || type.isVolatileQualified())
    return refuse("what the reference '" + variable->getNameAsString() +
                  "' names is not understood");
  values[variable] = {Value::Address, {}, *pointer, {}};
}

void ThreadReader::readVariable(const VarDecl *variable, Body &out) {
  if (variable->hasAttr<CUDASharedAttr>())
    return isLibraryStorage(variable->getType()) ? void() : readShared(variable);
  QualType type = variable->getType();
  const Expr *init = variable->getInit();
  liftNested(init, out);
  std::string shown = "'" + variable->getNameAsString() + "'";
  if (type.isVolatileQualified())
    return refuse(shown + " is volatile");
  const auto *record = type->getAsCXXRecordDecl();
  if (isThreadGroup(type) || (record && record->isLambda()))
    return;
  if (variable->isStaticLocal())
    return variable->isConstexpr() ? void() : refuse(shown + " is static");
  if (type->isPointerType())
    return readPointer(variable);
  if (type->isReferenceType())
    return readReference(variable);
  if (type->isArrayType())
    return declareArray(variable, out);
  bool isNumber =
      type->isIntegralOrEnumerationType() && !type->isBooleanType() && ast.getTypeSize(type) >= 32;
  if (isNumber && !untracked.count(variable)) {
    if (!init) {
      values.erase(variable); // assigned before it is used
      return;
    }
    if (std::optional<Integer> number = evaluate(init)) {
      if (number->bits < ast.getTypeSize(type) && !demand(*number, init))
        return refuse("'" + sourceText(init) + "' is not understood");
      if (std::optional<Integer> converted = convert(*number, type)) {
        if (!demand(*converted, init))
          return refuse("'" + sourceText(init) + "' is not understood");
        values[variable] = {Value::Number, *converted, {}, {}};
        if (!converted->poly.isConstant())
          program.hints.push_back({converted->poly, uniqueName(variable->getName())});
        return;
      }
    }
  }
  if (failed() || declareVector(variable, init, out))
    return;
  if (std::optional<View> known =
          init && record && !untracked.count(variable) ? viewOf(init) : std::nullopt) {
    bindPart(variable, {std::nullopt, std::nullopt, std::move(known)});
    return;
  }
  declareScalar(variable, init, out);
  followCondition(variable);
  noteQuotient(variable);
}

void ThreadReader::declareScalar(const VarDecl *variable, const Expr *init, Body &out) {
  QualType type = variable->getType();
  Statement let;
  let.kind = Statement::Let;
  let.type = typeText(type.getUnqualifiedType());
  if (const auto *constructed = llvm::dyn_cast_or_null<CXXConstructExpr>(init);
      constructed && constructed->getNumArgs() == 0)
    init = nullptr;
  if (init)
    let.value = textOf(init, out);
  if (failed())
    return;
  let.name = uniqueName(variable->getName());
  bool isNumber =
      type->isIntegralOrEnumerationType() && !type->isBooleanType() && ast.getTypeSize(type) >= 32;
  values[variable] = {Value::Scalar, {}, {}, let.name};
  if (isNumber && !untracked.count(variable)) {
    let.symbol = addVarying(let.name, type);
    values[variable] = {Value::Number, ofType(Poly::variable(*let.symbol), type, true), {}, {}};
  }
  out.push_back(std::move(let));
}

} // namespace kbopt::raise
