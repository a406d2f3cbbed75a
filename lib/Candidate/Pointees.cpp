//===- Pointees.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Pointees.h"
#include "kb-opt/Plan/Workload.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecordLayout.h"

using namespace kbopt;
using kbrt::ElementType;

namespace {

bool isComplete(clang::QualType type) {
  return !type.isNull() && !type->isIncompleteType() && !type->isDependentType();
}

/// The type of the numbers that \p type consists of, if all are of one type and nothing lies
/// between them; adds their bytes to \p bytes.
ElementType numbersIn(clang::QualType type, const clang::ASTContext &ast, int64_t &bytes) {
  if (const auto *array = ast.getAsConstantArrayType(type)) {
    int64_t each = 0;
    const ElementType found = numbersIn(array->getElementType(), ast, each);
    bytes += each * array->getSize().getZExtValue();
    return found;
  }
  if (const auto *enumeration = type->getAsEnumDecl())
    type = enumeration->getIntegerType();
  const int64_t size = ast.getTypeSizeInChars(type).getQuantity();
  const auto *record = type->getAsCXXRecordDecl();
  ElementType found = scalarElement(
      type.getCanonicalType().getUnqualifiedType().getAsString(ast.getPrintingPolicy()));
  if (!record || found != ElementType::Unknown) {
    bytes += size;
    return found;
  }
  if (!record->isCompleteDefinition() || record->isDynamicClass())
    return ElementType::Unknown;
  int64_t own = 0;
  bool isFirst = true, isOne = true;
  auto add = [&](clang::QualType part) {
    int64_t partBytes = 0;
    const ElementType each = numbersIn(part, ast, partBytes);
    isOne &= isFirst || each == found;
    own = record->isUnion() ? std::max(own, partBytes) : own + partBytes;
    found = each;
    isFirst = false;
  };
  for (const clang::CXXBaseSpecifier &base : record->bases())
    if (const auto *type = base.getType()->getAsCXXRecordDecl(); !type || !type->isEmpty())
      add(base.getType());
  for (const clang::FieldDecl *field : record->fields()) {
    add(field->getType());
    isOne &= !field->isBitField();
  }
  bytes += own;
  return isOne && own == size ? found : ElementType::Unknown;
}

/// Adds the numbers of \p type, which lies \p offset bytes from the begin of a record; false if it
/// has others than numbers in known places.
bool addFields(clang::QualType type, uint64_t offset, const clang::ASTContext &ast,
               std::vector<RecordField> &fields) {
  constexpr size_t most = 32;
  if (fields.size() > most)
    return false;
  if (const auto *array = ast.getAsConstantArrayType(type)) {
    const uint64_t each = ast.getTypeSizeInChars(array->getElementType()).getQuantity();
    for (uint64_t i = 0; i < array->getSize().getZExtValue(); ++i)
      if (!addFields(array->getElementType(), offset + i * each, ast, fields))
        return false;
    return true;
  }
  if (const auto *enumeration = type->getAsEnumDecl())
    type = enumeration->getIntegerType();
  const ElementType element = scalarElement(
      type.getCanonicalType().getUnqualifiedType().getAsString(ast.getPrintingPolicy()));
  if (element != ElementType::Unknown) {
    fields.push_back({offset, element});
    return true;
  }
  const auto *record = type->getAsCXXRecordDecl();
  if (!record || !record->isCompleteDefinition() || record->isDynamicClass() || record->isUnion() ||
      record->getNumBases())
    return false;
  const clang::ASTRecordLayout &layout = ast.getASTRecordLayout(record);
  for (const clang::FieldDecl *field : record->fields()) {
    const uint64_t at =
        ast.toCharUnitsFromBits(layout.getFieldOffset(field->getFieldIndex())).getQuantity();
    if (field->isBitField() || !addFields(field->getType(), offset + at, ast, fields))
      return false;
  }
  return true;
}

ElementType numbersIn(clang::QualType type, const clang::ASTContext &ast) {
  int64_t bytes = 0;
  if (const auto *array = ast.getAsIncompleteArrayType(type))
    type = array->getElementType();
  return isComplete(type) ? numbersIn(type, ast, bytes) : ElementType::Unknown;
}

/// Calls \p found with the place and the pointee of every pointer in an object of \p type.
void forEachPointer(clang::QualType type, const clang::ASTContext &ast, uint64_t at,
                    llvm::function_ref<void(uint64_t, clang::QualType)> found) {
  constexpr uint64_t mostElements = 256;
  if (type->isPointerType() || type->isReferenceType())
    return found(at, type->getPointeeType());
  if (!isComplete(type))
    return;
  if (const auto *array = ast.getAsConstantArrayType(type)) {
    const uint64_t size = ast.getTypeSizeInChars(array->getElementType()).getQuantity();
    for (uint64_t i = 0; i < std::min(mostElements, array->getSize().getZExtValue()); ++i)
      forEachPointer(array->getElementType(), ast, at + i * size, found);
    return;
  }
  const auto *record = type->getAsCXXRecordDecl();
  if (!record)
    return;
  const clang::ASTRecordLayout &layout = ast.getASTRecordLayout(record);
  for (const clang::CXXBaseSpecifier &base : record->bases())
    if (const auto *parent = base.getType()->getAsCXXRecordDecl(); parent && !base.isVirtual())
      forEachPointer(base.getType(), ast, at + layout.getBaseClassOffset(parent).getQuantity(),
                     found);
  for (const clang::FieldDecl *field : record->fields())
    if (!field->isBitField())
      forEachPointer(field->getType(), ast,
                     at + layout.getFieldOffset(field->getFieldIndex()) / ast.getCharWidth(),
                     found);
}

/// The type of the memory behind all pointers in an object of \p type; Unknown if it is not one.
ElementType behind(clang::QualType type, const clang::ASTContext &ast) {
  std::optional<ElementType> all;
  bool isOne = true;
  forEachPointer(type, ast, 0, [&](uint64_t, clang::QualType pointee) {
    const ElementType each = numbersIn(pointee, ast);
    isOne &= !all || *all == each;
    all = each;
  });
  return isOne ? all.value_or(ElementType::Unknown) : ElementType::Unknown;
}

bool isRawMemory(clang::QualType pointee) {
  return !pointee.isNull() &&
         (pointee->isVoidType() || pointee->isCharType() || pointee->isStdByteType());
}

/// Uses of one pointer to raw memory, and what it is cast to.
class Casts : public clang::DynamicRecursiveASTVisitor {
public:
  Casts(const clang::ParmVarDecl &parameter, const clang::ASTContext &ast)
      : parameter(parameter), ast(ast) {}

  bool VisitDeclRefExpr(clang::DeclRefExpr *use) override {
    uses += use->getDecl() == &parameter;
    return true;
  }
  bool VisitExplicitCastExpr(clang::ExplicitCastExpr *cast) override {
    const auto *use = llvm::dyn_cast<clang::DeclRefExpr>(cast->getSubExpr()->IgnoreParenImpCasts());
    const clang::QualType pointee = cast->getType()->getPointeeType();
    if (!use || use->getDecl() != &parameter || pointee.isNull() || isRawMemory(pointee))
      return true;
    const ElementType to = numbersIn(pointee, ast);
    isOne &= casts == 0 || to == type;
    type = to;
    ++casts;
    return true;
  }
  /// Unknown if the pointer is used in any other way.
  ElementType result() const {
    return isOne && casts == uses && casts > 0 ? type : ElementType::Unknown;
  }

private:
  const clang::ParmVarDecl &parameter;
  const clang::ASTContext &ast;
  ElementType type = ElementType::Unknown;
  unsigned uses = 0, casts = 0;
  bool isOne = true;
};

} // namespace

kbrt::PointeeTypes kbopt::numbersOf(clang::QualType type, const clang::ASTContext &ast) {
  const kbrt::Pointee whole{numbersIn(type, ast),
                            isComplete(type) ? behind(type, ast) : ElementType::Unknown};
  return whole == kbrt::Pointee() ? kbrt::PointeeTypes() : kbrt::PointeeTypes{{0, whole}};
}

kbrt::PointeeTypes kbopt::pointeesOf(const clang::ParmVarDecl &parameter,
                                     const clang::FunctionDecl &kernel,
                                     const clang::ASTContext &ast) {
  kbrt::PointeeTypes types;
  forEachPointer(parameter.getType(), ast, 0, [&](uint64_t at, clang::QualType pointee) {
    kbrt::PointeeTypes own = numbersOf(pointee, ast);
    if (isRawMemory(pointee) && parameter.getType()->isPointerType()) {
      Casts casts(parameter, ast);
      casts.TraverseStmt(kernel.getBody());
      if (const ElementType type = casts.result(); type != ElementType::Unknown)
        own = {{0, {type}}};
    }
    if (!own.empty())
      types[at] = own.begin()->second;
  });
  return types;
}

RecordLayout kbopt::layoutOf(clang::QualType type, const clang::ASTContext &ast) {
  RecordLayout layout;
  layout.bytes = ast.getTypeSizeInChars(type).getQuantity();
  if (!addFields(type, 0, ast, layout.fields))
    layout.fields.clear();
  return layout;
}
