//===- LoopForms.cpp - Loops as for loops -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the view of while and do loops as the for loops that they could have been written as. The
// given tree stays as it is: what is new refers to its parts.
//
//===----------------------------------------------------------------------===//
#include "LoopForms.h"

#include "ThreadReader.h"

using namespace clang;

namespace kbopt::raise {

const Stmt *onlyStatement(const Stmt *statement) {
  while (const auto *block = llvm::dyn_cast_or_null<CompoundStmt>(statement)) {
    if (block->size() != 1)
      return nullptr;
    statement = block->body_front();
  }
  return statement;
}

/// Whether an iteration of the loop around \p statement may go on with the next one from here.
static bool containsContinue(const Stmt *statement) {
  if (!statement || llvm::isa<ForStmt, WhileStmt, DoStmt>(statement))
    return false;
  return llvm::isa<ContinueStmt>(statement) ||
         llvm::any_of(statement->children(),
                      [](const Stmt *child) { return containsContinue(child); });
}

/// Whether \p expr names \p variable.
static bool mentions(const Stmt *expr, const VarDecl *variable) {
  const auto *reference = llvm::dyn_cast_or_null<DeclRefExpr>(expr);
  return expr && ((reference && reference->getDecl() == variable) ||
                  llvm::any_of(expr->children(),
                               [&](const Stmt *child) { return mentions(child, variable); }));
}

static bool isAlways(const Expr *condition, const ASTContext &ast) {
  bool value = false;
  return !condition || (!condition->isValueDependent() &&
                        condition->EvaluateAsBooleanCondition(value, ast) && value);
}

/// The variable that \p statement, the last one of a loop with \p condition, moves on.
static const VarDecl *movedBy(const Stmt *statement, const Expr *condition) {
  const auto *increment = llvm::dyn_cast_or_null<Expr>(statement);
  if (!increment)
    return nullptr;
  increment = strip(increment);
  const VarDecl *variable = nullptr;
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(increment))
    variable = variableOf(unary->getSubExpr());
  else if (const auto *assign = llvm::dyn_cast<BinaryOperator>(increment);
           assign && assign->isAssignmentOp())
    variable = variableOf(assign->getLHS());
  Statement::Progress progress = Statement::Add;
  const Expr *step = nullptr;
  bool isKnown = variable && mentions(condition, variable) &&
                 readIncrement(increment, variable, progress, step);
  return isKnown ? variable : nullptr;
}

/// `for (...; k = j++)`, where k is the counter's value before: the body ends with `k = j`. Null
/// for other loops.
static const ForStmt *splitHeader(const ForStmt *loop, const ASTContext &ast) {
  const Expr *increment = loop->getInc() ? strip(loop->getInc()) : nullptr;
  const auto *assign = llvm::dyn_cast_or_null<BinaryOperator>(increment);
  if (!assign || assign->getOpcode() != BO_Assign || loop->getConditionVariable() ||
      containsContinue(loop->getBody()))
    return nullptr;
  auto *step = llvm::dyn_cast<UnaryOperator>(const_cast<Expr *>(strip(assign->getRHS())));
  const VarDecl *before = variableOf(assign->getLHS()),
                *counter = step ? variableOf(step->getSubExpr()) : nullptr;
  bool isSplit = before && counter && before != counter && step->isPostfix() &&
                 step->isIncrementDecrementOp() &&
                 ast.hasSameUnqualifiedType(before->getType(), counter->getType());
  if (!isSplit)
    return nullptr;
  QualType type = counter->getType().getUnqualifiedType();
  auto *value = ImplicitCastExpr::Create(ast, type, CK_LValueToRValue, step->getSubExpr(), nullptr,
                                         VK_PRValue, FPOptionsOverride());
  auto *keep = BinaryOperator::Create(ast, assign->getLHS(), value, BO_Assign, type, VK_LValue,
                                      OK_Ordinary, assign->getExprLoc(), FPOptionsOverride());
  Stmt *body = const_cast<Stmt *>(loop->getBody()), *parts[] = {body, keep};
  auto *block =
      CompoundStmt::Create(ast, parts, FPOptionsOverride(), body->getBeginLoc(), body->getEndLoc());
  return new (ast)
      ForStmt(ast, const_cast<Stmt *>(loop->getInit()), const_cast<Expr *>(loop->getCond()),
              nullptr, step, block, loop->getBeginLoc(), loop->getBeginLoc(), loop->getBeginLoc());
}

const ForStmt *LoopForms::convert(const Stmt *loop, const ASTContext &ast) {
  const Expr *condition = nullptr, *increment = nullptr;
  const Stmt *init = nullptr, *body = nullptr;
  if (const auto *given = llvm::dyn_cast<ForStmt>(loop)) {
    if (const ForStmt *split = splitHeader(given, ast))
      return split;
    if ((given->getCond() && given->getInc()) || given->getConditionVariable())
      return given;
    init = given->getInit(), condition = given->getCond(), increment = given->getInc(),
    body = given->getBody();
  } else if (const auto *given = llvm::dyn_cast<WhileStmt>(loop)) {
    if (given->getConditionVariable())
      return nullptr;
    condition = given->getCond(), body = given->getBody();
  } else if (const auto *given = llvm::dyn_cast<DoStmt>(loop)) {
    condition = given->getCond(), body = given->getBody();
  }
  llvm::SmallVector<Stmt *> statements;
  if (const auto *block = llvm::dyn_cast_or_null<CompoundStmt>(body))
    statements.assign(block->body_begin(), block->body_end());
  else if (body)
    statements.push_back(const_cast<Stmt *>(body));
  if (isAlways(condition, ast) && !statements.empty() && !llvm::isa<DoStmt>(loop)) {
    const auto *leave = llvm::dyn_cast<IfStmt>(statements.front());
    const Stmt *exit = leave && !leave->getElse() ? onlyStatement(leave->getThen()) : nullptr;
    if (!exit || !llvm::isa<BreakStmt>(exit) || leave->getInit() || leave->getConditionVariable())
      return nullptr;
    condition = UnaryOperator::Create(ast, const_cast<Expr *>(leave->getCond()), UO_LNot,
                                      ast.BoolTy, VK_PRValue, OK_Ordinary,
                                      leave->getCond()->getExprLoc(), false, FPOptionsOverride());
    statements.erase(statements.begin());
  }
  if (!increment && !statements.empty() && movedBy(statements.back(), condition)) {
    increment = llvm::cast<Expr>(statements.pop_back_val());
    if (llvm::any_of(statements, containsContinue))
      return nullptr;
  }
  if (!condition || !increment)
    return nullptr;
  auto *block = CompoundStmt::Create(ast, statements, FPOptionsOverride(), body->getBeginLoc(),
                                     body->getEndLoc());
  auto *result = new (ast) ForStmt(ast, const_cast<Stmt *>(init), const_cast<Expr *>(condition),
                                   nullptr, const_cast<Expr *>(increment), block,
                                   loop->getBeginLoc(), loop->getBeginLoc(), loop->getBeginLoc());
  if (llvm::isa<DoStmt>(loop))
    repeated.insert(result);
  return result;
}

const ForStmt *LoopForms::asFor(const Stmt *loop, const ASTContext &ast) {
  auto [at, isNew] = known.try_emplace(loop, nullptr);
  if (isNew)
    at->second = convert(loop, ast);
  return at->second;
}

} // namespace kbopt::raise
