//===- ReadPlaces.cpp - Fields of structs that a kernel is given ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a field of a struct parameter is written and where it lies: `p.sizes[1]`, or
// `a.stride(0)` where only a method gives it.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "clang/AST/RecordLayout.h"

using namespace clang;

namespace kbopt::raise {

/// Where \p base begins in an object of \p type, which is one or has it as its direct base.
static std::optional<int64_t> baseOffset(const ASTContext &ast, QualType type,
                                         const RecordDecl *base) {
  if (type->isPointerType())
    type = type->getPointeeType();
  const auto *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  if (!record || !record->getDefinition() || record->getCanonicalDecl() == base->getCanonicalDecl())
    return 0;
  for (const CXXBaseSpecifier &each : record->getDefinition()->bases())
    if (const auto *own = each.getType()->getAsCXXRecordDecl();
        own && own->getCanonicalDecl() == base->getCanonicalDecl() && !each.isVirtual())
      return ast.getASTRecordLayout(record).getBaseClassOffset(own).getQuantity();
  return std::nullopt;
}

/// The public method of \p record, or of its base \p base, that only returns \p field, or an
/// element of it; null if there is none that host and device may call.
static const CXXMethodDecl *getterOf(const CXXRecordDecl *record, const FieldDecl *field) {
  auto find = [&](const CXXRecordDecl *in) -> const CXXMethodDecl * {
    for (const CXXMethodDecl *method : in->methods()) {
      // A method of a template that nothing calls has no body but the template's.
      const FunctionDecl *definition = nullptr,
                         *pattern = method->getTemplateInstantiationPattern();
      bool isBoth = method->hasAttr<CUDAHostAttr>() && method->hasAttr<CUDADeviceAttr>();
      bool isElement = field->getType()->isArrayType();
      if (method->getAccess() != AS_public || !method->isConst() || !method->getIdentifier() ||
          !(isBoth || method->isConstexpr()) || method->getNumParams() != unsigned(isElement) ||
          !(method->hasBody(definition) || (pattern && pattern->hasBody(definition))))
        continue;
      const Expr *result = onlyReturn(definition);
      result = result ? strip(result) : nullptr;
      if (const auto *subscript = llvm::dyn_cast_or_null<ArraySubscriptExpr>(result);
          subscript && isElement && variableOf(subscript->getRHS()) == definition->getParamDecl(0))
        result = strip(subscript->getLHS()); // in a template, which one is the array is not known
      else if (isElement)
        continue;
      const auto *member = llvm::dyn_cast_or_null<MemberExpr>(result);
      if (member && llvm::isa<CXXThisExpr>(strip(member->getBase())) &&
          member->getMemberDecl()->getDeclName() == field->getDeclName())
        return method;
    }
    return nullptr;
  };
  if (const CXXMethodDecl *method = find(record))
    return method;
  const auto *base = llvm::dyn_cast<CXXRecordDecl>(field->getParent());
  return base && base != record ? find(base) : nullptr;
}

void ThreadReader::FieldOfParameter::addElement(int64_t number, int64_t bytes) {
  text += element.empty() ? "[" + std::to_string(number) + "]"
                          : "." + element + "(" + std::to_string(number) + ")";
  element.clear();
  offset += number * bytes;
}

bool ThreadReader::nameField(const FieldDecl *field, QualType type, FieldOfParameter &place) {
  if (field->getAccess() == AS_public || field->getAccess() == AS_none) {
    place.text += ("." + field->getName()).str();
    return true;
  }
  if (type->isPointerType())
    type = type->getPointeeType();
  const auto *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  const CXXMethodDecl *getter = record ? getterOf(record, field) : nullptr;
  if (!getter)
    return false;
  if (field->getType()->isArrayType())
    place.element = getter->getName();
  else
    place.text += ("." + getter->getName() + "()").str();
  return true;
}

bool ThreadReader::readPlace(const Expr *lvalue, FieldOfParameter &place) {
  lvalue = strip(lvalue);
  if (const auto *member = llvm::dyn_cast<MemberExpr>(lvalue)) {
    const auto *field = llvm::dyn_cast<FieldDecl>(member->getMemberDecl());
    if (!field || field->isBitField() || !readPlace(objectOf(member), place))
      return false;
    std::optional<int64_t> base = baseOffset(ast, objectOf(member)->getType(), field->getParent());
    if (!base || !nameField(field, objectOf(member)->getType(), place))
      return false;
    place.offset += *base + ast.getFieldOffset(field) / ast.getCharWidth();
    return true;
  }
  if (const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(lvalue)) {
    const Expr *array = strip(subscript->getBase());
    std::optional<Integer> index = evaluate(subscript->getIdx());
    if (!array->getType()->isArrayType() || !index || !index->poly.isConstant() ||
        !readPlace(array, place))
      return false;
    place.addElement(index->poly.constantTerm(),
                     ast.getTypeSizeInChars(lvalue->getType()).getQuantity());
    return true;
  }
  place.parameter = llvm::dyn_cast_or_null<ParmVarDecl>(variableOf(lvalue));
  if (place.parameter)
    place.text = place.parameter->getNameAsString();
  return place.parameter;
}

std::optional<Integer> ThreadReader::evaluateField(const Expr *lvalue) {
  FieldOfParameter place;
  QualType type = lvalue->getType();
  if (!isFixedPlace(lvalue) || !readPlace(lvalue, place))
    return std::nullopt;
  return symbolOf(place, type);
}

Integer ThreadReader::symbolOf(const FieldOfParameter &place, QualType type) {
  for (VarId var = analysis::FirstOtherVar; var < space.size(); ++var)
    if (space[var].kind == Space::Param && space[var].name == place.text)
      return ofType(Poly::variable(var), type, true);
  Space::Variable symbol;
  symbol.kind = Space::Param;
  symbol.name = place.text;
  symbol.argument = place.parameter->getFunctionScopeIndex();
  symbol.byteOffset = place.offset;
  symbol.bits = ast.getTypeSize(type);
  symbol.isSigned = type->isSignedIntegerOrEnumerationType();
  if (!symbol.isSigned)
    symbol.low = 0;
  return ofType(Poly::variable(space.add(symbol)), type, true);
}

} // namespace kbopt::raise
