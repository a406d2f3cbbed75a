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

Expr *negationOf(const Expr *condition, const ASTContext &ast) {
  return UnaryOperator::Create(ast, const_cast<Expr *>(condition), UO_LNot, ast.BoolTy, VK_PRValue,
                               OK_Ordinary, condition->getExprLoc(), false, FPOptionsOverride());
}

bool containsContinue(const Stmt *statement) {
  if (!statement || llvm::isa<ForStmt, WhileStmt, DoStmt>(statement))
    return false;
  return llvm::isa<ContinueStmt>(statement) ||
         llvm::any_of(statement->children(),
                      [](const Stmt *child) { return containsContinue(child); });
}

unsigned countMentions(const Stmt *node, const VarDecl *variable) {
  if (const auto *pseudo = llvm::dyn_cast<PseudoObjectExpr>(node))
    node = pseudo->getSyntacticForm();
  const auto *reference = llvm::dyn_cast<DeclRefExpr>(node);
  unsigned count =
      reference && reference->getDecl()->getCanonicalDecl() == variable->getCanonicalDecl();
  for (const Stmt *child : node->children())
    count += child ? countMentions(child, variable) : 0;
  return count;
}

static bool isAlways(const Expr *condition, const ASTContext &ast) {
  bool value = false;
  return !condition || (!condition->isValueDependent() &&
                        condition->EvaluateAsBooleanCondition(value, ast) && value);
}

/// Whether \p condition has a part that compares \p variable, or a sum with it, with something
/// else.
static bool compares(const Expr *condition, const VarDecl *variable) {
  condition = strip(condition);
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(condition))
    return unary->getOpcode() == UO_LNot && compares(unary->getSubExpr(), variable);
  if (variableOf(condition) == variable)
    return true; // with 0
  const auto *binary = llvm::dyn_cast<BinaryOperator>(condition);
  if (binary && binary->isLogicalOp())
    return compares(binary->getLHS(), variable) || compares(binary->getRHS(), variable);
  if (!binary || !binary->isComparisonOp())
    return false;
  auto names = [&](const Expr *side) {
    side = strip(side);
    const auto *sum = llvm::dyn_cast<BinaryOperator>(side);
    return variableOf(side) == variable ||
           (sum && sum->isAdditiveOp() && countMentions(sum, variable));
  };
  const Expr *left = binary->getLHS(), *right = binary->getRHS();
  return (names(left) && !countMentions(right, variable)) ||
         (names(right) && !countMentions(left, variable));
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
  bool isKnown = variable && compares(condition, variable) &&
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
    condition = negationOf(leave->getCond(), ast);
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

const Stmt *LoopForms::runsOnce(const Stmt *loop, const ASTContext &ast) {
  const auto *once = llvm::dyn_cast<DoStmt>(loop);
  bool goesOn = true;
  bool ends = once && !once->getCond()->isValueDependent() &&
              once->getCond()->EvaluateAsBooleanCondition(goesOn, ast) && !goesOn;
  return ends && !hasBreak(once->getBody()) && !containsContinue(once->getBody()) ? once->getBody()
                                                                                  : nullptr;
}

const ForStmt *LoopForms::asFor(const Stmt *loop, const ASTContext &ast) {
  auto [at, isNew] = known.try_emplace(loop, nullptr);
  if (isNew)
    at->second = convert(loop, ast);
  return at->second;
}

/// Whether \p statement names \p variable after \p end.
static bool namesAfter(const Stmt *statement, const VarDecl *variable, SourceLocation end,
                       const SourceManager &sources) {
  if (const auto *reference = llvm::dyn_cast<DeclRefExpr>(statement))
    return reference->getDecl() == variable &&
           sources.isBeforeInTranslationUnit(end, reference->getLocation());
  return llvm::any_of(statement->children(), [&](const Stmt *child) {
    return child && namesAfter(child, variable, end, sources);
  });
}

/// Whether \p loop may end before \p variable, which its condition compares, has its last value, or
/// does not count up, and something asks for the value then.
static bool endsWithOther(const ForStmt *loop, const VarDecl *variable, bool isUp,
                          const ASTContext &ast) {
  const auto *condition = llvm::dyn_cast<BinaryOperator>(strip(loop->getCond()));
  bool mayEnd = !isUp || !condition || condition->isLogicalOp() || hasBreak(loop->getBody());
  const auto *function = llvm::dyn_cast<FunctionDecl>(variable->getDeclContext());
  return mayEnd && function && !llvm::isa_and_nonnull<DeclStmt>(loop->getInit()) &&
         namesAfter(function->getBody(), variable, loop->getEndLoc(), ast.getSourceManager());
}

bool LoopForms::isCounted(const ForStmt *loop, const ASTContext &ast) {
  const VarDecl *variable = countedVariable(loop);
  QualType type = variable ? variable->getType() : QualType();
  if (!variable || !variable->isLocalVarDecl() || !type->isIntegerType() || type->isBooleanType() ||
      ast.getTypeSize(type) < 32 || !loop->getCond() || !compares(loop->getCond(), variable) ||
      changesVariable(loop->getBody(), variable))
    return false;
  llvm::SmallVector<const Expr *> increments;
  splitIncrement(loop->getInc(), increments);
  return llvm::any_of(increments, [&](const Expr *each) {
    Statement::Progress progress = Statement::Add;
    const Expr *step = nullptr;
    return readIncrement(each, variable, progress, step) &&
           !endsWithOther(loop, variable, progress == Statement::Add, ast);
  });
}

const Stmt *LoopForms::withExits(const Stmt *body, llvm::ArrayRef<const Expr *> conditions,
                                 const ASTContext &ast) {
  llvm::SmallVector<Stmt *> statements;
  for (const Expr *condition : conditions) {
    SourceLocation place = condition->getExprLoc();
    statements.push_back(IfStmt::Create(ast, place, IfStatementKind::Ordinary, nullptr, nullptr,
                                        negationOf(condition, ast), place, place,
                                        new (ast) BreakStmt(place)));
  }
  statements.push_back(const_cast<Stmt *>(body));
  return CompoundStmt::Create(ast, statements, FPOptionsOverride(), body->getBeginLoc(),
                              body->getEndLoc());
}

UncountedLoop LoopForms::asUncounted(const Stmt *loop, const ASTContext &ast) {
  UncountedLoop result;
  const Expr *condition = nullptr;
  llvm::SmallVector<Stmt *> last;
  if (const auto *given = llvm::dyn_cast<ForStmt>(loop)) {
    result.init = given->getInit();
    result.body = given->getBody();
    condition = given->getCond();
    if (given->getInc())
      last.push_back(const_cast<Expr *>(given->getInc()));
    if (given->getConditionVariable())
      result.reason = "a loop declares a variable in its condition";
  } else if (const auto *given = llvm::dyn_cast<WhileStmt>(loop)) {
    result.body = given->getBody();
    condition = given->getCond();
    if (given->getConditionVariable())
      result.reason = "a loop declares a variable in its condition";
  } else {
    const auto *repeated = llvm::cast<DoStmt>(loop);
    result.body = repeated->getBody();
    SourceLocation place = repeated->getCond()->getExprLoc();
    const auto *once = withExits(new (ast) NullStmt(place), {repeated->getCond()}, ast);
    last.push_back(const_cast<Stmt *>(once));
  }
  if (!last.empty() && containsContinue(result.body))
    result.reason = "what follows 'continue' is not understood";
  if (!result.reason.empty())
    return result;
  if (!last.empty()) {
    last.insert(last.begin(), const_cast<Stmt *>(result.body));
    result.body = CompoundStmt::Create(ast, last, FPOptionsOverride(), result.body->getBeginLoc(),
                                       result.body->getEndLoc());
  }
  if (!isAlways(condition, ast))
    result.body = withExits(result.body, {condition}, ast);
  return result;
}

} // namespace kbopt::raise
