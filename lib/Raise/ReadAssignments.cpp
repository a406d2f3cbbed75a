//===- ReadAssignments.cpp - Assignments of one thread ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of assignments to variables, pointers and elements.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace kbopt::raise {

/// \p text as an operand of a binary operator.
static std::string operandText(const Expr *expr, const std::string &text) {
  expr = expr->IgnoreImplicit();
  bool isClosed = llvm::isa<ParenExpr, DeclRefExpr, IntegerLiteral, FloatingLiteral,
                            ArraySubscriptExpr, CallExpr, MemberExpr>(expr) &&
                  !llvm::isa<CXXOperatorCallExpr>(expr);
  return isClosed ? text : "(" + text + ")";
}

void ThreadReader::readAssignment(const Expr *left, const Expr *right, llvm::StringRef opcode,
                                  Body &out) {
  // `a = b = x;` is `b = x; a = b;`.
  const auto *inner = right ? llvm::dyn_cast<BinaryOperator>(strip(right)) : nullptr;
  if (inner && inner->isAssignmentOp() && !inner->getLHS()->HasSideEffects(ast)) {
    readExpression(inner, out);
    right = inner->getLHS();
    if (failed())
      return;
  }
  const VarDecl *variable = variableOf(left);
  bool isLocal =
      variable && (variable->isLocalVarDeclOrParm()) && !variable->hasAttr<CUDASharedAttr>();
  if (const Value *value =
          isLocal && variable->getType()->isReferenceType() ? valueAt(left) : nullptr)
    isLocal = value->kind != Value::Address; // another name for an element
  if (isLocal && readCombine(left, right, opcode, out))
    return;
  if (failed() || assignWhole(left, right, opcode, out) || failed() ||
      (opcode.empty() && assignVector(left, right, out)) || assignPart(left, right, opcode, out))
    return;
  Statement result;
  auto append = [&](const std::string &before) {
    Text value = right ? textOf(right, out) : Text{"1", {}};
    result.value.operands = value.operands;
    result.value.text = opcode.empty() ? value.text
                                       : before + " " + opcode.str() + " " +
                                             (right ? operandText(right, value.text) : value.text);
  };
  if (isLocal) {
    QualType type = variable->getType();
    if (type->isPointerType())
      if (std::optional<Pointer> pointer; opcode.empty() && !untracked.count(variable)) {
        pointer = evaluatePointer(right);
        if (!pointer)
          return refuse("what '" + variable->getNameAsString() + "' points to is not understood");
        if (pointer->parts == 1)
          pointer->element = type->getPointeeType();
        pointees.erase(variable);
        values[variable] = {Value::Address, {}, *pointer, {}};
        return;
      }
    if (type->isPointerType()) {
      auto at = values.find(variable);
      std::optional<Integer> offset = right ? evaluate(right) : Integer{Poly::constant(1)};
      if (untracked.count(variable) || at == values.end() || at->second.kind != Value::Address ||
          !offset || !demand(*offset, right) || (opcode != "+" && opcode != "-"))
        return refuse("'" + variable->getNameAsString() +
                      "' moves in a way that is not understood");
      Poly &moved = at->second.address.offset;
      Poly by = offset->poly * Poly::constant(at->second.address.parts);
      moved = opcode == "+" ? moved + by : moved - by;
      return;
    }
    bool isNumber = type->isIntegralOrEnumerationType() && !type->isBooleanType() &&
                    ast.getTypeSize(type) >= 32;
    if (isNumber && !untracked.count(variable))
      return readNumberAssignment(variable, left, right, opcode, out);
    auto at = values.find(variable);
    if (at == values.end() || at->second.kind != Value::Scalar)
      return refuse(
          (llvm::isa<ParmVarDecl>(variable) ? "changes its parameter '" : "changes the object '") +
          variable->getNameAsString() + "'");
    result.kind = Statement::Assign;
    result.name = at->second.name;
    append(result.name);
    out.push_back(std::move(result));
    return;
  }
  std::optional<Operand> target = evaluateElement(left);
  if (!target)
    return refuse("the address of '" + sourceText(left) + "' is not understood");
  result.kind = Statement::Store;
  if (!opcode.empty())
    result.value.operands.push_back(*target);
  // The holes of the right-hand side follow that of the old value.
  Text value = right ? textOf(right, out) : Text{"1", {}};
  if (opcode.empty()) {
    result.value = std::move(value);
  } else {
    std::string shifted = shiftHoles(value.text, 1);
    result.value.text =
        "$0 " + opcode.str() + " " + (right ? operandText(right, shifted) : shifted);
    for (Operand &operand : value.operands)
      result.value.operands.push_back(std::move(operand));
  }
  result.target = std::move(*target);
  out.push_back(std::move(result));
}

/// An integer whose value is followed: nothing is emitted unless it is no polynomial.
void ThreadReader::readNumberAssignment(const VarDecl *variable, const Expr *left,
                                        const Expr *right, llvm::StringRef opcode, Body &out) {
  QualType type = variable->getType();
  std::optional<Integer> number = right ? evaluate(right) : Integer{Poly::constant(1)};
  if (!opcode.empty()) {
    std::optional<Integer> old = evaluate(left);
    std::optional<BinaryOperatorKind> kind =
        llvm::StringSwitch<std::optional<BinaryOperatorKind>>(opcode)
            .Case("+", BO_Add)
            .Case("-", BO_Sub)
            .Case("*", BO_Mul)
            .Case("/", BO_Div)
            .Case("%", BO_Rem)
            .Case("<<", BO_Shl)
            .Case(">>", BO_Shr)
            .Case("&", BO_And)
            .Default(std::nullopt);
    QualType common = right && ast.getTypeSize(right->getType()) > ast.getTypeSize(type)
                          ? right->getType()
                          : type;
    if (right && right->getType()->isUnsignedIntegerType() &&
        ast.getTypeSize(right->getType()) >= ast.getTypeSize(type))
      common = right->getType();
    number = old && kind && number ? arithmetic(*kind, *old, *number, common, right ? right : left)
                                   : std::nullopt;
    if (!number)
      return declareUpdated(variable, left, right, opcode, out);
  }
  if (number && (number->bits >= ast.getTypeSize(type) || demand(*number, left)))
    if (std::optional<Integer> converted = convert(*number, type);
        converted && demand(*converted, left)) {
      values[variable] = {Value::Number, *converted, {}, {}};
      return;
    }
  declareScalar(variable, right, out);
}

/// `i /= n` where that is no polynomial: an integer of its own.
void ThreadReader::declareUpdated(const VarDecl *variable, const Expr *left, const Expr *right,
                                  llvm::StringRef opcode, Body &out) {
  Statement let;
  let.kind = Statement::Let;
  let.type = typeText(variable->getType().getUnqualifiedType());
  let.value = textOf(left, out);
  Text other = right ? textOf(right, out) : Text{"1", {}};
  if (failed())
    return;
  std::string shifted = shiftHoles(other.text, let.value.operands.size());
  let.value.text += " " + opcode.str() + " " + (right ? operandText(right, shifted) : shifted);
  for (Operand &operand : other.operands)
    let.value.operands.push_back(std::move(operand));
  let.name = uniqueName(variable->getName());
  let.symbol = addVarying(let.name, variable->getType());
  values[variable] = {
      Value::Number, ofType(Poly::variable(*let.symbol), variable->getType(), true), {}, {}};
  out.push_back(std::move(let));
}

} // namespace kbopt::raise
