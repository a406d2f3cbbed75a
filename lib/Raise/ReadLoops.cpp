//===- ReadLoops.cpp - Counted loops ----------------------------------------===//
//
// Owns the reading of for loops whose header says how often they run.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/RecursiveASTVisitor.h"

using namespace clang;

namespace kbopt::raise {

static bool containsBreak(const Stmt *statement) {
  if (!statement || llvm::isa<ForStmt, WhileStmt, DoStmt, SwitchStmt>(statement))
    return false;
  return llvm::isa<BreakStmt>(statement) ||
         llvm::any_of(statement->children(), [](const Stmt *child) { return containsBreak(child); });
}

/// How far \p increment moves \p variable, and how.
static bool readIncrement(const Expr *increment, const VarDecl *variable, Statement::Progress &progress,
                          const Expr *&step) {
  increment = strip(increment);
  step = nullptr;
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(increment)) {
    progress = unary->isIncrementOp() ? Statement::Add : Statement::Down;
    return unary->isIncrementDecrementOp() && variableOf(unary->getSubExpr()) == variable;
  }
  const auto *assign = llvm::dyn_cast<BinaryOperator>(increment);
  if (!assign || !assign->isAssignmentOp() || variableOf(assign->getLHS()) != variable)
    return false;
  BinaryOperatorKind opcode = assign->getOpcode();
  step = assign->getRHS();
  if (opcode == BO_Assign) {
    const auto *binary = llvm::dyn_cast<BinaryOperator>(strip(step));
    if (!binary)
      return false;
    bool isFirst = variableOf(binary->getLHS()) == variable;
    if (!isFirst && (variableOf(binary->getRHS()) != variable || binary->getOpcode() != BO_Add))
      return false;
    step = isFirst ? binary->getRHS() : binary->getLHS();
    opcode = binary->getOpcode() == BO_Add   ? BO_AddAssign
             : binary->getOpcode() == BO_Sub ? BO_SubAssign
             : binary->getOpcode() == BO_Div ? BO_DivAssign
             : binary->getOpcode() == BO_Shr ? BO_ShrAssign
             : binary->getOpcode() == BO_Mul ? BO_MulAssign
             : binary->getOpcode() == BO_Shl ? BO_ShlAssign
                                             : BO_Assign;
  }
  switch (opcode) {
  case BO_AddAssign: progress = Statement::Add; return true;
  case BO_SubAssign: progress = Statement::Down; return true;
  case BO_DivAssign:
  case BO_ShrAssign: progress = Statement::Halve; break;
  case BO_MulAssign:
  case BO_ShlAssign: progress = Statement::Double; break;
  default: return false;
  }
  const auto *literal = llvm::dyn_cast<IntegerLiteral>(strip(step));
  bool shifts = opcode == BO_ShrAssign || opcode == BO_ShlAssign;
  return literal && literal->getValue() == (shifts ? 1 : 2);
}

bool ThreadReader::readHeader(const ForStmt *loop, const VarDecl *variable, Statement &result) {
  const Expr *step = nullptr;
  const auto *test = llvm::dyn_cast_or_null<BinaryOperator>(loop->getCond() ? strip(loop->getCond()) : nullptr);
  if (!loop->getInc() || !test || !test->isComparisonOp() ||
      !readIncrement(loop->getInc(), variable, result.progress, step))
    return false;
  BinaryOperatorKind opcode = test->getOpcode();
  const Expr *bound = test->getRHS();
  if (variableOf(test->getLHS()) != variable) {
    if (variableOf(test->getRHS()) != variable)
      return false;
    bound = test->getLHS();
    opcode = BinaryOperator::reverseComparisonOp(opcode);
  }
  std::optional<Integer> end = evaluateIndex(bound);
  if (!end || !demand(*end, bound))
    return false;
  // An unsigned comparison of a negative number is another one.
  if (test->getLHS()->getType()->isUnsignedIntegerType() && !isNonNegative(end->poly, true))
    return false;
  Integer by{Poly::constant(1)};
  if (step && (result.progress == Statement::Add || result.progress == Statement::Down)) {
    std::optional<Integer> value = evaluate(step);
    if (!value || !demand(*value, step) || !isPositive(value->poly))
      return false;
    by = *value;
  }
  result.step = by.poly;
  bool goesUp = result.progress == Statement::Add || result.progress == Statement::Double;
  result.end = end->poly;
  Poly one = Poly::constant(1);
  if (goesUp) {
    if (opcode == BO_LE)
      result.end = result.end + one;
    else if (opcode == BO_NE && !(by.poly == one))
      return false;
    else if (opcode != BO_LT && opcode != BO_NE)
      return false;
    return true;
  }
  if (opcode == BO_GT || (opcode == BO_NE && result.progress == Statement::Halve && result.end == Poly()))
    result.end = result.end + one;
  else if (opcode != BO_GE)
    return false;
  return result.progress == Statement::Down || isPositive(result.end);
}

/// Whether \p statement changes \p variable.
static bool changes(const Stmt *statement, const VarDecl *variable) {
  struct Finder : RecursiveASTVisitor<Finder> {
    const VarDecl *variable = nullptr;
    bool found = false;
    bool VisitBinaryOperator(BinaryOperator *op) {
      found |= op->isAssignmentOp() && variableOf(op->getLHS()) == variable;
      return !found;
    }
    bool VisitUnaryOperator(UnaryOperator *op) {
      found |= (op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf) && variableOf(op->getSubExpr()) == variable;
      return !found;
    }
    bool TraversePseudoObjectExpr(PseudoObjectExpr *) { return true; }
  } finder;
  finder.variable = variable;
  finder.TraverseStmt(const_cast<Stmt *>(statement));
  return finder.found;
}

void ThreadReader::readFor(const ForStmt *loop, Body &out) {
  std::string shown = "'" + sourceText(loop) + "'";
  if (containsBreak(loop->getBody()))
    return refuse("leaves a loop by break");
  const VarDecl *variable = nullptr;
  const Expr *begin = nullptr;
  if (const auto *declaration = llvm::dyn_cast_or_null<DeclStmt>(loop->getInit())) {
    if (declaration->isSingleDecl())
      variable = llvm::dyn_cast<VarDecl>(declaration->getSingleDecl());
    begin = variable ? variable->getInit() : nullptr;
  } else if (const auto *assign = llvm::dyn_cast_or_null<BinaryOperator>(loop->getInit());
             assign && assign->getOpcode() == BO_Assign) {
    variable = variableOf(assign->getLHS());
    begin = assign->getRHS();
  }
  QualType type = variable ? variable->getType() : QualType();
  if (!variable || !begin || !variable->isLocalVarDecl() || !type->isIntegerType() || type->isBooleanType() ||
      ast.getTypeSize(type) < 32 || untracked.count(variable) || changes(loop->getBody(), variable))
    return refuse("the loop " + shown + " is not a counted one");
  Statement result;
  result.kind = Statement::For;
  size_t loadedBefore = loadedForIndex.size();
  std::optional<Integer> first = evaluateIndex(begin);
  if (!first || !demand(*first, begin) || !readHeader(loop, variable, result))
    return refuse("the range of the loop " + shown + " is not understood");
  if (type->isUnsignedIntegerType() && (!isNonNegative(first->poly, true) || result.progress == Statement::Down))
    return refuse("the range of the loop " + shown + " is not understood");
  result.begin = first->poly;
  Space::Variable counter;
  counter.kind = Space::Loop;
  counter.name = uniqueName(variable->getName());
  if (isNonNegative(result.progress == Statement::Add || result.progress == Statement::Double ? result.begin
                                                                                              : result.end, false))
    counter.low = 0;
  const Poly &lowest = result.progress == Statement::Double ? result.begin : result.end;
  if (lowest.isConstant() && lowest.constantTerm() >= 1 &&
      (result.progress == Statement::Double || result.progress == Statement::Halve))
    counter.low = lowest.constantTerm();
  if (result.end.isConstant() && (result.progress == Statement::Add || result.progress == Statement::Double))
    counter.high = result.end.constantTerm() - 1;
  result.variable = space.add(counter);
  Poly one = Poly::constant(1);
  if (result.progress == Statement::Add || result.progress == Statement::Double)
    program.given[result.variable] = {result.begin, result.end};
  else
    program.given[result.variable] = {result.end, result.begin + one};
  values[variable] = {Value::Number, ofType(Poly::variable(result.variable), type, true), {}, {}};
  ++loopDepth;
  readSequence({loop->getBody()}, result.body);
  --loopDepth;
  // A bound is loaded once, not in each iteration.
  walk(result.body, [&](Statement &each) {
    bool stores = each.kind == Statement::Store || each.kind == Statement::Atomic;
    for (size_t i = loadedBefore; i < loadedForIndex.size(); ++i)
      if (stores && each.target.base == loadedForIndex[i])
        refuse("the bound of the loop " + shown + " may change");
    return true;
  });
  // What the variable is after the loop is not followed.
  values.erase(variable);
  if (!result.body.empty())
    out.push_back(std::move(result));
}

} // namespace kbopt::raise
