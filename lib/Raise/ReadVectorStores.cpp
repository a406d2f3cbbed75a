//===- ReadVectorStores.cpp - Variables and stores of vectors --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the declaration of vectors as scalars, and assignments to all of their parts at once.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace kbopt::raise {

/// Whether \p variable's function changes one field of it, or lets another function do so.
static bool changesField(const VarDecl *variable) {
  struct Finder : DynamicRecursiveASTVisitor {
    const VarDecl *variable = nullptr;
    bool found = false;
    void look(const Expr *lvalue) {
      const auto *member = llvm::dyn_cast<MemberExpr>(strip(lvalue));
      found |= member && variableOf(member->getBase()) == variable;
    }
    bool VisitBinaryOperator(BinaryOperator *op) override {
      return op->isAssignmentOp() ? look(op->getLHS()) : void(), !found;
    }
    bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *op) override {
      return op->isAssignmentOp() ? look(op->getArg(0)) : void(), !found;
    }
    bool VisitUnaryOperator(UnaryOperator *op) override {
      if (op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf)
        look(op->getSubExpr());
      found |= op->getOpcode() == UO_AddrOf && variableOf(op->getSubExpr()) == variable;
      return !found;
    }
  } finder;
  finder.variable = variable;
  const auto *function = llvm::dyn_cast<FunctionDecl>(variable->getDeclContext());
  if (function && function->getBody())
    finder.TraverseStmt(function->getBody());
  return finder.found;
}

bool ThreadReader::declareVector(const VarDecl *variable, const Expr *init, Body &out) {
  std::optional<VectorShape> shape = vectorShape(variable->getType());
  const auto *constructed = llvm::dyn_cast_or_null<CXXConstructExpr>(init);
  bool isEmpty = constructed && constructed->getNumArgs() == 0,
       isZero = isEmpty && constructed->requiresZeroInitialization();
  if (isEmpty)
    init = nullptr;
  std::optional<Parts> parts = shape && init ? splitVector(init, out) : std::nullopt;
  if (shape && init && !parts && !failed() && changesField(variable))
    parts = fixedParts(*shape, init, out);
  if (!shape || (init && !parts))
    return false;
  Value value;
  value.kind = Value::Vector;
  for (unsigned i = 0; i < shape->fields.size(); ++i) {
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName((variable->getName() + "_" + shape->fields[i]).str());
    let.type = typeText(shape->types[i].getUnqualifiedType());
    if (init)
      let.value = (*parts)[i];
    else if (isZero)
      let.value.text = "0";
    value.parts.push_back(let.name);
    out.push_back(std::move(let));
  }
  values[variable] = value;
  return true;
}

/// The parts of \p right as texts that still mean the same after the first of them is stored.
std::optional<ThreadReader::Parts> ThreadReader::fixedParts(const VectorShape &shape,
                                                            const Expr *right, Body &out) {
  std::optional<Parts> parts = splitVector(right, out);
  bool isFixed = parts && llvm::all_of(*parts, [](const Text &part) {
                   return llvm::none_of(part.operands, [](const Operand &each) {
                     return each.kind == Operand::Element;
                   });
                 });
  auto keep = [&](llvm::StringRef wish, const std::string &type, Text value) {
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName(wish);
    let.type = type;
    let.value = std::move(value);
    out.push_back(let);
    return let.name;
  };
  if (!parts) {
    Text whole = textOf(right, out);
    if (failed())
      return std::nullopt;
    std::string name =
        keep("whole", typeText(right->getType().getUnqualifiedType()), std::move(whole));
    parts.emplace();
    for (const std::string &field : shape.fields)
      parts->push_back({name + "." + field, {}});
  } else if (!isFixed) {
    for (auto [part, field, type] : llvm::zip_equal(*parts, shape.fields, shape.types))
      part = {keep("part_" + field, typeText(type.getUnqualifiedType()), part), {}};
  }
  return failed() ? std::nullopt : parts;
}

bool ThreadReader::storeVector(const Pointer &pointer, const Expr *right, Body &out) {
  std::optional<VectorShape> shape = vectorShape(pointer.whole);
  std::optional<Parts> parts = shape ? fixedParts(*shape, right, out) : std::nullopt;
  if (!parts)
    return false;
  for (unsigned i = 0; i < pointer.parts; ++i) {
    Statement store;
    store.kind = Statement::Store;
    store.target = partAt(pointer, i);
    store.value = (*parts)[i];
    out.push_back(std::move(store));
  }
  return true;
}

bool ThreadReader::assignVector(const Expr *left, const Expr *right, Body &out) {
  if (std::optional<Pointer> pointer = evaluateVector(left))
    return storeVector(*pointer, right, out);
  const Value *place = valueAt(left);
  std::optional<VectorShape> shape =
      place && place->kind == Value::Vector ? vectorShape(left->getType()) : std::nullopt;
  if (!shape)
    return false;
  llvm::SmallVector<std::string> names(place->parts.begin(), place->parts.end());
  std::optional<Parts> parts = fixedParts(*shape, right, out);
  if (!parts)
    return false;
  // (a, b) = (b, a)
  bool isPlain = true;
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = i + 1; j < names.size(); ++j)
      isPlain &= (*parts)[j].text.find(names[i]) == std::string::npos;
  for (auto [part, field, type] : llvm::zip_equal(*parts, shape->fields, shape->types)) {
    if (isPlain)
      continue;
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName("part_" + field);
    let.type = typeText(type.getUnqualifiedType());
    let.value = std::move(part);
    part = {let.name, {}};
    out.push_back(std::move(let));
  }
  for (auto [name, part] : llvm::zip_equal(names, *parts)) {
    Statement assign;
    assign.kind = Statement::Assign;
    assign.name = name;
    assign.value = std::move(part);
    out.push_back(std::move(assign));
  }
  return true;
}

} // namespace kbopt::raise
