//===- ReadFields.cpp - Fields of structs in memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the addresses of fields: an array of structs whose numbers all have one type is an array of
// these numbers, in which `particles[i].v` is an element.
//
//===----------------------------------------------------------------------===//
#include "Points.h"
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace kbopt::raise {
namespace {

/// The structs that \p function, or a function that it calls, stores fields of in memory, and those
/// with fields that are more than a number.
class FieldFinder : public DynamicRecursiveASTVisitor {
public:
  FieldFinder(const FunctionDecl *kernel, std::set<const RecordDecl *> &stored,
              std::set<const RecordDecl *> &nested)
      : kernel(kernel), ast(kernel->getASTContext()), stored(stored), nested(nested) {}

  void look(const FunctionDecl *function) {
    const FunctionDecl *definition = nullptr;
    bool isOwn = function && function->isDefined(definition) && definition->getBody() &&
                 !ast.getSourceManager().isInSystemHeader(definition->getLocation());
    if (isOwn && seen.insert(definition).second)
      TraverseStmt(definition->getBody());
  }

  bool VisitCallExpr(CallExpr *call) override {
    look(call->getDirectCallee());
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    if (op->isAssignmentOp())
      addStored(op->getLHS());
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) override {
    if (op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf)
      addStored(op->getSubExpr());
    return true;
  }
  bool VisitMemberExpr(MemberExpr *member) override {
    const auto *field = llvm::dyn_cast<FieldDecl>(member->getMemberDecl());
    if (field && (field->getType()->isArrayType() || field->getType()->isRecordType()))
      nested.insert(field->getParent()->getDefinition());
    return true;
  }

private:
  /// Adds the structs around the field that \p lvalue is, unless it is one of a variable.
  void addStored(const Expr *lvalue) {
    llvm::SmallVector<const RecordDecl *> records;
    bool isArrow = false;
    for (lvalue = strip(lvalue);;) {
      if (const auto *member = llvm::dyn_cast<MemberExpr>(lvalue);
          member && llvm::isa<FieldDecl>(member->getMemberDecl())) {
        records.push_back(
            llvm::cast<FieldDecl>(member->getMemberDecl())->getParent()->getDefinition());
        lvalue = strip(member->getBase());
        isArrow = member->isArrow();
      } else if (const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(lvalue);
                 subscript && strip(subscript->getBase())->getType()->isArrayType()) {
        lvalue = strip(subscript->getBase());
      } else {
        break;
      }
      if (isArrow)
        break;
    }
    const VarDecl *root = variableOf(lvalue);
    if (root && !isArrow && !root->getType()->isReferenceType())
      return;
    // What a function is handed is often a vector of the thread.
    bool isHanded = root && llvm::isa<ParmVarDecl>(root) && !root->getDeclContext()->Equals(kernel);
    for (const RecordDecl *record : records)
      if (!(isHanded && ast.getSourceManager().isInSystemHeader(record->getLocation())))
        stored.insert(record);
  }

  const FunctionDecl *kernel;
  const ASTContext &ast;
  std::set<const RecordDecl *> &stored, &nested;
  std::set<const FunctionDecl *> seen;
};

} // namespace

/// The one type that all numbers of \p type, a number, an array or a struct, have; null if there
/// are several or gaps.
static QualType soleScalar(const ASTContext &ast, QualType type) {
  if (type.isVolatileQualified())
    return {};
  if (const auto *array = ast.getAsConstantArrayType(type))
    return soleScalar(ast, array->getElementType());
  if (type->isArithmeticType())
    return type.getUnqualifiedType();
  const auto *record = type->getAsCXXRecordDecl();
  if (!record || !record->isCompleteDefinition() || record->isUnion() || record->getNumBases() ||
      !record->isStandardLayout() || !record->isTriviallyCopyable())
    return {};
  QualType sole;
  for (const FieldDecl *field : record->fields()) {
    QualType own = field->isBitField() ? QualType() : soleScalar(ast, field->getType());
    if (own.isNull() || (!sole.isNull() && !ast.hasSameType(own, sole)))
      return {};
    sole = own;
  }
  uint64_t size = 0;
  for (const FieldDecl *field : record->fields())
    size += ast.getTypeSize(field->getType());
  return sole.isNull() || size != ast.getTypeSize(type) || size == ast.getTypeSize(sole)
             ? QualType()
             : sole;
}

bool ThreadReader::splitShared(Pointer &pointer, QualType type, SharedArray &shared) {
  QualType scalar = soleScalar(ast, type);
  if (!ast.getBaseElementType(type)->isRecordType() || scalar.isNull())
    return false;
  pointer.element = scalar;
  setPointee(pointer, type.getUnqualifiedType());
  hasFields = true;
  uint64_t parts = ast.getTypeSize(ast.getBaseElementType(type)) / ast.getTypeSize(scalar);
  std::optional<VectorShape> shape = vectorShape(ast.getBaseElementType(type));
  for (uint64_t i = 0; i < parts; ++i)
    sharedParts[shared.name].push_back(uniqueName(
        shared.name + "_" +
        (shape && shape->fields.size() == parts ? shape->fields[i] : std::to_string(i))));
  shared.type = typeText(scalar);
  shared.elements = shared.elements * Poly::constant(parts);
  return true;
}

void ThreadReader::splitSharedParts() {
  for (auto &[name, parts] : sharedParts) {
    int64_t count = parts.size();
    auto isPart = [&, name = name](const Operand &operand) {
      return operand.kind == Operand::Element && operand.base.memory == Base::Shared &&
             operand.base.name == name;
    };
    auto partOf = [&](const Poly &offset) {
      int64_t part = offset.constantTerm() % count;
      return part < 0 ? part + count : part;
    };
    bool isApart = true;
    walk(program.body, [&](Statement &each) {
      forEachOperand(each, [&](Operand &operand) {
        for (auto &[monomial, coefficient] : operand.offset.monomials())
          isApart &= !isPart(operand) || monomial.empty() || coefficient % count == 0;
      });
      return isApart;
    });
    auto array = llvm::find_if(
        program.shared, [&, name = name](const SharedArray &each) { return each.name == name; });
    if (!isApart || array == program.shared.end())
      continue;
    walk(program.body, [&](Statement &each) {
      forEachOperand(each, [&](Operand &operand) {
        if (!isPart(operand))
          return;
        int64_t part = partOf(operand.offset);
        operand.base.name = parts[part];
        operand.offset =
            *exactQuotient(operand.offset - Poly::constant(part), Poly::constant(count));
      });
      return true;
    });
    SharedArray whole = *array;
    if (std::optional<Poly> elements = exactQuotient(whole.elements, Poly::constant(count)))
      whole.elements = *elements;
    program.shared.erase(array);
    for (const std::string &part : parts) {
      whole.name = part;
      program.shared.push_back(whole);
    }
  }
}

void ThreadReader::findFields() {
  std::set<const RecordDecl *> stored, nested;
  FieldFinder(kernel, stored, nested).look(kernel);
  for (const ParmVarDecl *parameter : kernel->parameters()) {
    QualType type =
        parameter->getType()->isPointerType() ? parameter->getType()->getPointeeType() : QualType();
    const RecordDecl *record =
        type.isNull() ? nullptr : ast.getBaseElementType(type)->getAsRecordDecl();
    if (!record || !values.count(parameter))
      continue;
    record = record->getDefinition();
    bool isStored = stored.count(record) && !type.isConstQualified();
    QualType scalar = isStored || nested.count(record) ? soleScalar(ast, type) : QualType();
    if (scalar.isNull())
      continue;
    Pointer &pointer = values[parameter].address;
    pointer.element = scalar;
    setPointee(pointer, type.getUnqualifiedType());
    hasFields = true;
  }
}

void ThreadReader::checkFields() {
  std::map<std::string, std::pair<unsigned, bool>>
      sizes;                                // by base: of its elements, and whether they differ
  std::map<std::string, std::string> types; // of memory that is cast
  std::set<std::string> stored;
  walk(program.body, [&](Statement &each) {
    forEachOperand(each, [&](Operand &operand) {
      bool isCast = castGivens.count(operand.base.name);
      if (operand.kind != Operand::Element || (!hasFields && !isCast))
        return;
      if (isCast &&
          types.try_emplace(operand.base.name, operand.type).first->second != operand.type)
        sizes[operand.base.name].second = true;
      auto [known, isNew] = sizes.try_emplace(operand.base.name, operand.bytes, false);
      known->second.second |= known->second.first != operand.bytes;
    });
    if (each.kind == Statement::Store || each.kind == Statement::Atomic)
      stored.insert(each.target.base.name);
    return true;
  });
  for (auto &[name, size] : sizes)
    if (size.second && stored.count(name))
      refuse("'" + name +
             (castGivens.count(name) ? "' is used as elements of several types"
                                     : "' is used both as structs and as their fields"));
}

void ThreadReader::setPointee(Pointer &pointer, QualType type) const {
  pointer.parts = ast.getTypeSize(type) / ast.getTypeSize(pointer.element);
  pointer.whole = pointer.parts > 1 ? type : QualType();
}

std::optional<Pointer> ThreadReader::placeInMemory(const Expr *lvalue) {
  lvalue = strip(lvalue);
  if (const auto *call = llvm::dyn_cast<CallExpr>(lvalue))
    return placeOfCall(call);
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(lvalue))
    return unary->getOpcode() == UO_Deref ? evaluatePointer(unary->getSubExpr()) : std::nullopt;
  const VarDecl *variable = variableOf(lvalue);
  if (variable ? !variable->getType()->isReferenceType()
               : !llvm::isa<ArraySubscriptExpr, MemberExpr>(lvalue))
    return std::nullopt;
  return evaluateArray(lvalue);
}

std::optional<Pointer> ThreadReader::fieldPlace(const MemberExpr *member) {
  const auto *field = llvm::dyn_cast<FieldDecl>(member->getMemberDecl());
  if (!hasFields || !field || field->getType()->isPointerType() ||
      field->getType()->isReferenceType())
    return std::nullopt;
  const Expr *whole = objectOf(member);
  std::optional<Pointer> place = isArrow(member) ? evaluatePointer(whole) : placeInMemory(whole);
  const RecordDecl *record =
      place && !place->whole.isNull() ? place->whole->getAsRecordDecl() : nullptr;
  if (!record || record->getDefinition() != field->getParent()->getDefinition())
    return std::nullopt;
  place->offset =
      place->offset + Poly::constant(ast.getFieldOffset(field) / ast.getTypeSize(place->element));
  setPointee(*place, field->getType().getUnqualifiedType());
  return place;
}

bool ThreadReader::isFixedPlace(const Expr *lvalue) const {
  bool isField = false;
  for (lvalue = strip(lvalue);;) {
    if (const auto *member = llvm::dyn_cast<MemberExpr>(lvalue)) {
      if (isArrow(member) || !llvm::isa<FieldDecl>(member->getMemberDecl()))
        return false;
      isField = true;
      lvalue = strip(objectOf(member));
    } else if (const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(lvalue);
               subscript && strip(subscript->getBase())->getType()->isArrayType()) {
      lvalue = strip(subscript->getBase());
    } else {
      break;
    }
  }
  const VarDecl *root = variableOf(lvalue);
  const auto *parameter = llvm::dyn_cast_or_null<ParmVarDecl>(root);
  bool isGiven = parameter && parameter->getDeclContext() == kernel &&
                 !parameter->getType()->isReferenceType() && !untracked.count(parameter);
  return isField && root &&
         (isGiven || (root->hasGlobalStorage() && !root->isLocalVarDecl() &&
                      root->hasAttr<CUDAConstantAttr>()));
}

} // namespace kbopt::raise
