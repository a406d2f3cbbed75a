//===- ReadNested.cpp - Assignments inside expressions --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of `a[k++] = x`, `while (k >>= 1)` and the like: what an expression changes is a
// statement before the one that the expression stands in.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace clang;

namespace kbopt::raise {

/// The lvalue that \p expr, an assignment or an increment, changes; null for anything else.
static const Expr *changedBy(const Expr *expr) {
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr))
    return unary->isIncrementDecrementOp() ? unary->getSubExpr() : nullptr;
  const auto *binary = llvm::dyn_cast<BinaryOperator>(expr);
  return binary && binary->isAssignmentOp() ? binary->getLHS() : nullptr;
}

void ThreadReader::liftNested(const Expr *expr, Body &out, bool isStatement) {
  if (isLifting || !expr)
    return;
  nested.clear();
  llvm::SaveAndRestore lifts(isLifting, true);
  llvm::SaveAndRestore around(wholeExpression, expr);
  readNested(expr, out, isStatement);
}

/// The variable in which \p lvalue, a variable, an element or a field, lies, or which points to it.
static const VarDecl *ownerOf(const Expr *lvalue) {
  for (lvalue = strip(lvalue);; lvalue = strip(lvalue)) {
    if (const auto *subscript = llvm::dyn_cast<ArraySubscriptExpr>(lvalue))
      lvalue = subscript->getBase();
    else if (const auto *member = llvm::dyn_cast<MemberExpr>(lvalue))
      lvalue = member->getBase();
    else if (const auto *unary = llvm::dyn_cast<UnaryOperator>(lvalue))
      lvalue = unary->getSubExpr();
    else
      return variableOf(lvalue);
  }
}

void ThreadReader::readNested(const Stmt *node, Body &out, bool isStatement) {
  if (!node || failed() || llvm::isa<LambdaExpr>(node))
    return;
  const auto *expr = llvm::dyn_cast<Expr>(node);
  if (expr)
    node = expr = strip(expr);
  const Expr *changed = expr ? changedBy(expr) : nullptr;
  const auto *binary = llvm::dyn_cast<BinaryOperator>(node);
  // What a condition decides stays where it is.
  bool isGuarding = llvm::isa<ConditionalOperator>(node) || (binary && binary->isLogicalOp());
  for (const Stmt *child : node->children()) {
    // `a = b = x;` is read as two statements.
    const auto *inner = isStatement && changed && binary && child == binary->getRHS()
                            ? llvm::dyn_cast<BinaryOperator>(strip(binary->getRHS()))
                            : nullptr;
    readNested(child, out, inner && inner->isAssignmentOp());
    if (isGuarding)
      break;
  }
  if (!changed || isStatement || failed() || changed->HasSideEffects(ast))
    return;
  // `x[k++] = k`: what the other mention means depends on the order.
  const VarDecl *owner = ownerOf(changed);
  if (!owner || countMentions(wholeExpression, owner) != countMentions(expr, owner))
    return refuse("'" + sourceText(expr) + "' stands inside an expression");
  const auto *unary = llvm::dyn_cast<UnaryOperator>(expr);
  bool isOld = unary && unary->isPostfix();
  if (isOld)
    keepNested(expr, changed, out);
  readExpression(expr, out);
  if (!isOld)
    keepNested(expr, changed, out);
}

void ThreadReader::keepNested(const Expr *expr, const Expr *changed, Body &out) {
  if (failed())
    return;
  if (std::optional<Integer> number = evaluate(changed)) {
    nested[expr] = {Value::Number, *number, {}, {}};
    return;
  }
  if (changed->getType()->isPointerType())
    if (std::optional<Pointer> pointer = evaluatePointer(changed)) {
      nested[expr] = {Value::Address, {}, *pointer, {}};
      return;
    }
  if (!changed->getType()->isArithmeticType())
    return refuse("'" + sourceText(expr) + "' stands inside an expression");
  Statement let;
  let.kind = Statement::Let;
  let.type = typeText(changed->getType().getUnqualifiedType());
  let.value = textOf(changed, out);
  let.name = uniqueName("value");
  nested[expr] = {Value::Scalar, {}, {}, let.name};
  out.push_back(std::move(let));
}

const Value *ThreadReader::nestedValue(const Expr *expr) const {
  auto at = nested.find(strip(expr));
  return at == nested.end() ? nullptr : &at->second;
}

} // namespace kbopt::raise
