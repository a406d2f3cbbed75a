//===- ReadConditions.cpp - Conditions as constraints and text -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the splitting of a condition into integer constraints and the rest.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"

using namespace clang;

namespace kbopt::raise {

bool ThreadReader::readComparison(const BinaryOperator *comparison, bool negates,
                                  Statement &condition) {
  BinaryOperatorKind opcode = comparison->getOpcode();
  if (negates)
    opcode = BinaryOperator::negateComparisonOp(opcode);
  if (!comparison->getLHS()->getType()->isIntegralOrEnumerationType())
    return false;
  std::optional<Integer> left = evaluate(comparison->getLHS()),
                         right = evaluate(comparison->getRHS());
  auto isZero = [](const std::optional<Integer> &side) { return side && side->poly == Poly(); };
  if (opcode == BO_EQ && !left && isZero(right))
    return readRest(comparison->getLHS(), condition);
  if (opcode == BO_EQ && !right && isZero(left))
    return readRest(comparison->getRHS(), condition);
  if (!left || !right || !demand(*left, comparison->getLHS()) ||
      !demand(*right, comparison->getRHS()))
    return false;
  Poly difference = left->poly - right->poly, one = Poly::constant(1);
  if (opcode == BO_EQ && readQuotient(difference, condition))
    return true;
  Constraint constraint;
  switch (opcode) {
  case BO_LT:
    constraint.poly = Poly() - difference - one;
    break;
  case BO_LE:
    constraint.poly = Poly() - difference;
    break;
  case BO_GT:
    constraint.poly = difference - one;
    break;
  case BO_GE:
    constraint.poly = difference;
    break;
  case BO_EQ:
    constraint = {difference, true};
    break;
  case BO_NE: // of what cannot be less
    if (!isNonNegative(difference, false))
      return false;
    constraint.poly = difference - one;
    break;
  default:
    return false;
  }
  constraint.poly = simplify(constraint.poly);
  if (!constraint.poly.isConstant() || constraint.isEquality || constraint.poly.constantTerm() < 0)
    condition.constraints.push_back(constraint);
  return true;
}

bool ThreadReader::readTruth(const Expr *expr, bool negates, Statement &condition) {
  std::optional<Integer> value = evaluate(expr);
  if (!value && negates)
    return readRest(expr, condition);
  if (!value || !demand(*value, expr) ||
      (!value->poly.isConstant() && !isNonNegative(value->poly, false)))
    return false;
  if (value->poly.isConstant()) {
    if ((value->poly.constantTerm() != 0) == negates)
      condition.constraints.push_back({Poly::constant(-1)});
    return true;
  }
  condition.constraints.push_back(
      {negates ? value->poly : value->poly - Poly::constant(1), negates});
  return true;
}

/// Whether \p expr is 0 or 1: a comparison, or some joined by & and |.
static bool isTruth(const Expr *expr) {
  const auto *binary = llvm::dyn_cast<BinaryOperator>(strip(expr));
  bool joins = binary && (binary->getOpcode() == BO_And || binary->getOpcode() == BO_Or);
  return joins ? isTruth(binary->getLHS()) && isTruth(binary->getRHS())
               : strip(expr)->getType()->isBooleanType();
}

/// Whether \p expr is computed without memory and functions; the variables that it names are in \p
/// named.
static bool isArithmetic(const Stmt *expr, std::set<const VarDecl *> &named) {
  if (const auto *pseudo = llvm::dyn_cast<PseudoObjectExpr>(expr))
    return gridVariable(pseudo).has_value();
  if (const auto *reference = llvm::dyn_cast<DeclRefExpr>(expr)) {
    const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
    if (variable)
      named.insert(variable);
    return variable && variable->isLocalVarDeclOrParm() && variable->getType()->isArithmeticType();
  }
  bool isKnown = llvm::isa<BinaryOperator, ParenExpr, ImplicitCastExpr, IntegerLiteral,
                           FloatingLiteral, SubstNonTypeTemplateParmExpr>(expr);
  const auto *unary = llvm::dyn_cast<UnaryOperator>(expr);
  isKnown |= unary && !unary->isIncrementDecrementOp() && unary->getOpcode() != UO_Deref &&
             unary->getOpcode() != UO_AddrOf;
  const auto *binary = llvm::dyn_cast<BinaryOperator>(expr);
  return isKnown && !(binary && binary->isAssignmentOp()) &&
         llvm::all_of(expr->children(),
                      [&](const Stmt *child) { return isArithmetic(child, named); });
}

void ThreadReader::followCondition(const VarDecl *variable) {
  conditions.erase(variable);
  std::set<const VarDecl *> named;
  const auto *function = llvm::dyn_cast<FunctionDecl>(variable->getDeclContext());
  if (!function || !variable->getType()->isBooleanType() || !variable->getInit() ||
      changesVariable(function->getBody(), variable) || !isArithmetic(variable->getInit(), named))
    return;
  std::map<const VarDecl *, Poly> integers;
  for (const VarDecl *each : named) {
    auto at = values.find(each);
    if (at != values.end() && at->second.kind == Value::Number)
      integers[each] = at->second.number.poly;
    else if (changesVariable(function->getBody(), each))
      return;
  }
  conditions[variable] = std::move(integers);
}

const Expr *ThreadReader::followedCondition(const Expr *expr) const {
  const VarDecl *variable = variableOf(expr);
  auto at = conditions.find(variable);
  if (at == conditions.end())
    return nullptr;
  for (auto &[integer, poly] : at->second)
    if (auto now = values.find(integer); now == values.end() || !(now->second.number.poly == poly))
      return nullptr;
  return variable->getInit();
}

void ThreadReader::readCondition(const Expr *expr, bool negates, Statement &condition, Body &out) {
  if (failed())
    return;
  expr = strip(expr);
  bool value;
  if (!expr->isValueDependent() && expr->EvaluateAsBooleanCondition(value, ast)) {
    if (value == negates)
      condition.constraints.push_back({Poly::constant(-1)});
    return;
  }
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr);
      unary && unary->getOpcode() == UO_LNot)
    return readCondition(unary->getSubExpr(), !negates, condition, out);
  if (const Expr *followed = followedCondition(expr))
    return readCondition(followed, negates, condition, out);
  if (const auto *binary = llvm::dyn_cast<BinaryOperator>(expr)) {
    bool isAnd = binary->getOpcode() == (negates ? BO_Or : BO_And); // `i > 0 & j > 0`
    if ((isAnd && isTruth(binary)) || binary->getOpcode() == (negates ? BO_LOr : BO_LAnd)) {
      readCondition(binary->getLHS(), negates, condition, out);
      if (llvm::any_of(condition.constraints,
                       [&](const Constraint &each) { return isImpossible(each); }))
        return;
      size_t outer = given.size();
      given.append(condition.constraints.begin(), condition.constraints.end());
      readCondition(binary->getRHS(), negates, condition, out);
      given.truncate(outer);
      return;
    }
    if (binary->isComparisonOp() && readComparison(binary, negates, condition))
      return;
  }
  if (readTruth(expr, negates, condition))
    return;
  Text text = textOf(expr, out);
  std::string &joined = condition.value.text;
  std::string part = shiftHoles(text.text, condition.value.operands.size());
  bool isBinary = llvm::isa<BinaryOperator, ConditionalOperator>(expr);
  if (negates)
    part = "!(" + part + ")";
  else if (isBinary && !joined.empty())
    part = "(" + part + ")";
  if (!joined.empty() && !negates && !llvm::StringRef(joined).starts_with("("))
    joined = "(" + joined + ")";
  joined = joined.empty() ? part : joined + " && " + part;
  for (Operand &operand : text.operands)
    condition.value.operands.push_back(std::move(operand));
}

bool ThreadReader::isStable(const Statement &condition, const Body &body) const {
  // Constraints are over values that never change; text may name scalars and load elements.
  if (condition.value.text.empty())
    return true;
  bool isStable = true;
  walk(const_cast<Body &>(body), [&](Statement &each) {
    if (each.kind == Statement::Assign || each.kind == Statement::Combine)
      isStable &= condition.value.text.find(llvm::StringRef(each.name).split('[').first) ==
                  std::string::npos; // of an array, any element
    if (each.kind == Statement::Store || each.kind == Statement::Atomic)
      isStable &= llvm::none_of(condition.value.operands, [](const Operand &operand) {
        return operand.kind == Operand::Element;
      });
    return true;
  });
  return isStable;
}

} // namespace kbopt::raise
