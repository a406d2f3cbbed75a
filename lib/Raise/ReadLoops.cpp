//===- ReadLoops.cpp - Counted loops ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of for loops whose header says how often they run.
//
//===----------------------------------------------------------------------===//
#include "Points.h"
#include "ThreadReader.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

using namespace clang;

namespace kbopt::raise {

bool readIncrement(const Expr *increment, const VarDecl *variable, Statement::Progress &progress,
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
  case BO_AddAssign:
    progress = Statement::Add;
    return true;
  case BO_SubAssign:
    progress = Statement::Down;
    return true;
  case BO_DivAssign:
  case BO_ShrAssign:
    progress = Statement::Halve;
    break;
  case BO_MulAssign:
  case BO_ShlAssign:
    progress = Statement::Double;
    break;
  default:
    return false;
  }
  const auto *literal = llvm::dyn_cast<IntegerLiteral>(strip(step));
  bool shifts = opcode == BO_ShrAssign || opcode == BO_ShlAssign;
  return literal && literal->getValue() == (shifts ? 1 : 2);
}

void splitIncrement(const Expr *increment, llvm::SmallVectorImpl<const Expr *> &parts) {
  const auto *binary = increment ? llvm::dyn_cast<BinaryOperator>(strip(increment)) : nullptr;
  if (!binary || binary->getOpcode() != BO_Comma) {
    if (increment)
      parts.push_back(increment);
    return;
  }
  splitIncrement(binary->getLHS(), parts);
  splitIncrement(binary->getRHS(), parts);
}

/// Of several variables that the header of \p loop declares, the one that its condition compares.
static const VarDecl *comparedVariable(const ForStmt *loop, const DeclStmt *declaration) {
  const auto *test =
      loop->getCond() ? llvm::dyn_cast<BinaryOperator>(strip(loop->getCond())) : nullptr;
  for (const Decl *each : declaration->decls())
    if (const auto *variable = llvm::dyn_cast<VarDecl>(each);
        variable && test &&
        (variableOf(test->getLHS()) == variable || variableOf(test->getRHS()) == variable))
      return variable;
  return nullptr;
}

const VarDecl *countedVariable(const ForStmt *loop) {
  if (const auto *declaration = llvm::dyn_cast_or_null<DeclStmt>(loop->getInit()))
    return declaration->isSingleDecl() ? llvm::dyn_cast<VarDecl>(declaration->getSingleDecl())
                                       : comparedVariable(loop, declaration);
  if (const auto *assign = llvm::dyn_cast_or_null<BinaryOperator>(loop->getInit()))
    return assign->getOpcode() == BO_Assign ? variableOf(assign->getLHS()) : nullptr;
  if (loop->getInit() || !loop->getInc())
    return nullptr;
  const Expr *increment = strip(loop->getInc());
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(increment))
    return variableOf(unary->getSubExpr());
  const auto *assign = llvm::dyn_cast<BinaryOperator>(increment);
  return assign && assign->isAssignmentOp() ? variableOf(assign->getLHS()) : nullptr;
}

/// \p side as the variable plus a constant: `i + 3`.
static std::optional<int64_t> offsetFrom(const Expr *side, const VarDecl *variable,
                                         const ASTContext &ast) {
  if (variableOf(side) == variable)
    return 0;
  const auto *sum = llvm::dyn_cast<BinaryOperator>(strip(side));
  Expr::EvalResult constant;
  if (!sum || !sum->isAdditiveOp() || !sum->getType()->isSignedIntegerType() ||
      variableOf(sum->getLHS()) != variable || !sum->getRHS()->EvaluateAsInt(constant, ast) ||
      constant.Val.getInt().getSignificantBits() > 32)
    return std::nullopt;
  int64_t value = constant.Val.getInt().getExtValue();
  return sum->getOpcode() == BO_Add ? value : -value;
}

/// \p condition, or its negation.
static const Expr *asHolding(const Expr *condition, bool negates, const ASTContext &ast) {
  return negates ? negationOf(condition, ast) : condition;
}

/// `i != 0`.
static const Expr *isNotZero(const Expr *variable, const ASTContext &ast) {
  QualType type = variable->getType().getUnqualifiedType();
  SourceLocation place = variable->getExprLoc();
  auto *value = ImplicitCastExpr::Create(ast, type, CK_LValueToRValue, const_cast<Expr *>(variable),
                                         nullptr, VK_PRValue, FPOptionsOverride());
  auto *zero = IntegerLiteral::Create(ast, llvm::APInt(ast.getTypeSize(type), 0), type, place);
  return BinaryOperator::Create(ast, value, zero, BO_NE, ast.BoolTy, VK_PRValue, OK_Ordinary, place,
                                FPOptionsOverride());
}

/// The conjuncts of \p condition, comparisons that hold or \p Test::negates; the one that \p
/// variable is compared in comes first. Those that are no comparisons are \p others.
template <class Test>
static llvm::SmallVector<Test> splitTest(const Expr *condition, const VarDecl *variable,
                                         const ASTContext &ast,
                                         llvm::SmallVectorImpl<const Expr *> &others) {
  llvm::SmallVector<std::pair<const Expr *, bool>> open{{condition, false}};
  llvm::SmallVector<Test> tests;
  while (!open.empty()) {
    auto [expr, negates] = open.pop_back_val();
    expr = strip(expr);
    if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr);
        unary && unary->getOpcode() == UO_LNot) {
      open.push_back({unary->getSubExpr(), !negates});
      continue;
    }
    if (!negates && variableOf(expr) == variable)
      expr = isNotZero(expr, ast);
    const auto *test = llvm::dyn_cast<BinaryOperator>(expr);
    if (test && test->getOpcode() == (negates ? BO_LOr : BO_LAnd)) {
      open.push_back({test->getRHS(), negates});
      open.push_back({test->getLHS(), negates});
      continue;
    }
    if (!test || !test->isComparisonOp())
      others.push_back(asHolding(expr, negates, ast));
    else
      tests.push_back({test, negates});
  }
  auto compares = [&](const Test &test) {
    return offsetFrom(test.comparison->getLHS(), variable, ast) ||
           offsetFrom(test.comparison->getRHS(), variable, ast);
  };
  std::stable_partition(tests.begin(), tests.end(), compares);
  return tests;
}

/// The arguments of `min(a, b)`.
static std::optional<std::pair<const Expr *, const Expr *>> readMinimum(const Expr *expr,
                                                                        const ASTContext &ast) {
  const auto *call = llvm::dyn_cast<CallExpr>(strip(expr));
  const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  if (!callee || calleeName(call) != "min" || call->getNumArgs() != 2 ||
      !ast.getSourceManager().isInSystemHeader(callee->getLocation()) ||
      !call->getType().getNonReferenceType()->isSignedIntegerType())
    return std::nullopt;
  return std::pair(call->getArg(0), call->getArg(1));
}

/// Whether \p condition is computed from variables alone that \p loop leaves as they are.
static bool isFixedIn(const Stmt *condition, const ForStmt *loop, const VarDecl *counter) {
  if (llvm::isa<CallExpr, ArraySubscriptExpr, LambdaExpr>(condition))
    return false;
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(condition);
      unary && unary->getOpcode() == UO_Deref)
    return false;
  if (const auto *reference = llvm::dyn_cast<DeclRefExpr>(condition))
    if (const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl()))
      return variable->isLocalVarDeclOrParm() && !variable->getType()->isReferenceType() &&
             variable != counter && !changesVariable(loop->getBody(), variable);
  return llvm::all_of(condition->children(),
                      [&](const Stmt *child) { return isFixedIn(child, loop, counter); });
}

void ThreadReader::sortGuards(const ForStmt *loop, const VarDecl *variable, const Statement &result,
                              Guards &guards, Statement &around) {
  llvm::SmallVector<const Expr *> others = std::move(guards.exits);
  guards.exits.clear();
  Body nothing;
  for (const Expr *each : others)
    if (isFixedIn(each, loop, variable))
      readCondition(each, false, around, nothing);
    else
      guards.exits.push_back(each);
  for (const Test &test : guards.tests) {
    Statement read;
    bool isRead = readComparison(test.comparison, test.negates, read);
    for (const Constraint &constraint : read.constraints) {
      // Once false, it stays false.
      Poly slope = constraint.poly.coefficientOf(result.variable);
      isRead &= !constraint.isEquality && slope.isConstant() && slope.constantTerm() < 0 &&
                !space.dependsOn(constraint.poly.without(result.variable), result.variable);
    }
    if (isRead)
      guards.holds.insert(guards.holds.end(), read.constraints.begin(), read.constraints.end());
    else
      guards.exits.push_back(asHolding(test.comparison, test.negates, ast));
  }
  for (const Poly &end : guards.ends)
    guards.holds.push_back({end - Poly::variable(result.variable) - Poly::constant(1)});
}

std::optional<Integer> ThreadReader::comparedWith(const BinaryOperator *test,
                                                  const VarDecl *variable, const Statement &loop,
                                                  BinaryOperatorKind &opcode) {
  Space::Variable placeholder;
  placeholder.kind = Space::Loop;
  placeholder.name = variable->getName();
  VarId id = space.add(placeholder);
  auto at = values.find(variable);
  std::optional<Value> known = at == values.end() ? std::nullopt : std::optional(at->second);
  values[variable] = {Value::Number, ofType(Poly::variable(id), variable->getType(), true), {}, {}};
  std::optional<Integer> left = evaluate(test->getLHS()), right = evaluate(test->getRHS());
  bool isExact = left && right && demand(*left, test->getLHS()) && demand(*right, test->getRHS());
  values.erase(variable);
  if (known)
    values[variable] = *known;
  if (!isExact)
    return std::nullopt;
  Poly difference = left->poly - right->poly, slope = difference.coefficientOf(id),
       rest = difference.without(id);
  bool isPlus = slope == Poly::constant(1);
  if ((!isPlus && !(slope == Poly::constant(-1))) || space.dependsOn(rest, id))
    return std::nullopt;
  if (!isPlus)
    opcode = BinaryOperator::reverseComparisonOp(opcode);
  Poly end = isPlus ? Poly() - rest : rest;
  program.given[id] = {loop.begin, end};
  return Integer{end, 64, true, true};
}

bool ThreadReader::readHeader(const ForStmt *loop, const VarDecl *variable, Statement &result,
                              Guards &guards) {
  const Expr *step = nullptr;
  if (loop->getCond())
    guards.tests = splitTest<Test>(loop->getCond(), variable, ast, guards.exits);
  Test first = guards.tests.empty() ? Test{nullptr, false} : guards.tests.front();
  const BinaryOperator *test = first.comparison;
  if (test)
    guards.tests.erase(guards.tests.begin());
  llvm::SmallVector<const Expr *> increments;
  splitIncrement(loop->getInc(), increments);
  bool isCounted = false;
  for (const Expr *each : increments)
    if (const Expr *found = nullptr;
        !isCounted && readIncrement(each, variable, result.progress, found)) {
      isCounted = true;
      step = found;
    }
  if (!isCounted || !test || !test->isComparisonOp())
    return false;
  BinaryOperatorKind opcode = test->getOpcode();
  if (first.negates)
    opcode = BinaryOperator::negateComparisonOp(opcode);
  const Expr *bound = test->getRHS();
  std::optional<int64_t> offset = offsetFrom(test->getLHS(), variable, ast);
  if (!offset) {
    offset = offsetFrom(test->getRHS(), variable, ast);
    if (offset) {
      bound = test->getLHS();
      opcode = BinaryOperator::reverseComparisonOp(opcode);
    }
  }
  bool ascends = result.progress == Statement::Add, isPlainBound = offset.has_value();
  if (!ascends && (!guards.tests.empty() || offset.value_or(1)))
    return false;
  std::optional<Integer> end;
  if (!isPlainBound) {
    end = comparedWith(test, variable, result, opcode);
    if (!end)
      return false;
    offset = 0;
  }
  std::optional<std::pair<const Expr *, const Expr *>> minimum;
  if (ascends && isPlainBound && (opcode == BO_LT || opcode == BO_LE))
    minimum = readMinimum(bound, ast);
  if (minimum) {
    std::optional<Integer> first = evaluate(minimum->first), second = evaluate(minimum->second);
    if (first && second && demand(*first, bound) && demand(*second, bound)) {
      if (!(first->poly - result.begin).isConstant())
        std::swap(first, second);
      if ((first->poly - result.begin).isConstant()) {
        end = first;
        guards.ends.push_back(second->poly + Poly::constant((opcode == BO_LE) - *offset));
      }
    }
  }
  if (!end)
    end = evaluateIndex(bound);
  if (!end || !demand(*end, bound))
    return false;
  end->poly = end->poly - Poly::constant(*offset);
  // An unsigned comparison of a negative number is another one.
  if (isPlainBound && test->getLHS()->getType()->isUnsignedIntegerType() &&
      !isNonNegative(end->poly, true))
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
  if (opcode == BO_GT ||
      (opcode == BO_NE && result.progress == Statement::Halve && result.end == Poly()) ||
      (opcode == BO_NE && result.progress == Statement::Down && by.poly == one &&
       isNonNegative(result.begin - result.end, true)))
    result.end = result.end + one;
  else if (opcode != BO_GE)
    return false;
  return result.progress == Statement::Down || isPositive(result.end);
}

bool changesVariable(const Stmt *statement, const VarDecl *variable) {
  struct Finder : DynamicRecursiveASTVisitor {
    const VarDecl *variable = nullptr;
    bool found = false;
    bool VisitBinaryOperator(BinaryOperator *op) override {
      found |= op->isAssignmentOp() && variableOf(op->getLHS()) == variable;
      return !found;
    }
    bool VisitUnaryOperator(UnaryOperator *op) override {
      found |= (op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf) &&
               variableOf(op->getSubExpr()) == variable;
      return !found;
    }
    bool TraversePseudoObjectExpr(PseudoObjectExpr *) override { return true; }
  } finder;
  finder.variable = variable;
  finder.TraverseStmt(const_cast<Stmt *>(statement));
  return finder.found;
}

bool ThreadReader::startMoves(const ForStmt *loop, const VarDecl *counted, Statement &result,
                              bool isPlain, std::vector<Moving> &moving) {
  std::vector<LoopMove> moved = moves[loop];
  // What else the header counts.
  llvm::SmallVector<const Expr *> increments;
  splitIncrement(loop->getInc(), increments);
  for (const Expr *each : increments) {
    LoopMove move;
    Statement::Progress progress = Statement::Add;
    const Expr *place = strip(each);
    if (const auto *unary = llvm::dyn_cast<UnaryOperator>(place))
      move.variable = variableOf(unary->getSubExpr());
    else if (const auto *binary = llvm::dyn_cast<BinaryOperator>(place))
      move.variable = variableOf(binary->getLHS());
    if (!move.variable || move.variable == counted)
      continue;
    if (llvm::any_of(moved, [&](const LoopMove &known) { return known.variable == move.variable; }))
      continue;
    if (untracked.count(move.variable) ||
        !readIncrement(each, move.variable, progress, move.step) ||
        (progress != Statement::Add && progress != Statement::Down)) {
      refuse("'" + sourceText(loop) + "' counts in a way that is not understood");
      return false;
    }
    move.isDown = progress == Statement::Down;
    moved.push_back(move);
  }
  if (moved.empty())
    return true;
  bool isUnderstood =
      isPlain && result.progress == Statement::Add && !containsContinue(loop->getBody());
  Poly iteration = Poly::variable(result.variable) - result.begin;
  bool divides = true;
  for (const LoopMove &move : moved) {
    std::string shown = "'" + move.variable->getNameAsString() + "'";
    auto at = values.find(move.variable);
    bool isKnown = at != values.end() &&
                   (at->second.kind == Value::Number || at->second.kind == Value::Address);
    std::optional<Integer> by = move.step ? evaluate(move.step) : Integer{Poly::constant(1)};
    if (!isUnderstood || !isKnown || !by || !demand(*by, move.step ? move.step : loop->getInc())) {
      refuse(shown + " moves in a way that is not understood");
      return false;
    }
    Moving each{move.variable, at->second, move.isDown ? by->poly * Poly::constant(-1) : by->poly};
    if (each.start.kind == Value::Address)
      each.by = each.by * Poly::constant(each.start.address.parts);
    divides &= exactQuotient(each.by, result.step).has_value();
    moving.push_back(std::move(each));
  }
  if (!divides) { // count iterations instead
    Poly length = space.countSteps(result.end - result.begin, result.step);
    values[counted].number.poly = result.begin + result.step * Poly::variable(result.variable);
    result.begin = Poly();
    result.end = length;
    result.step = Poly::constant(1);
    space[result.variable].low = 0;
    space[result.variable].high.reset();
    iteration = Poly::variable(result.variable);
    program.given[result.variable] = {result.begin, result.end};
  }
  for (Moving &each : moving) {
    Value &value = values[each.variable] = each.start;
    placeOf(value) = placeOf(value) + (divides ? iteration * *exactQuotient(each.by, result.step)
                                               : iteration * each.by);
  }
  return true;
}

bool ThreadReader::endMoves(const ForStmt *loop, const Statement &result, bool isPlain,
                            std::vector<Moving> &moving) {
  for (Moving &each : moving) {
    Poly before = placeOf(each.start), iteration = Poly::variable(result.variable) - result.begin;
    Poly moved =
        before + (iteration + result.step) * exactQuotient(each.by, result.step).value_or(Poly());
    bool isInHeader = llvm::none_of(
        moves[loop], [&](const LoopMove &move) { return move.variable == each.variable; });
    // The header's increments follow the body.
    llvm::SmallVector<const Expr *> increments;
    splitIncrement(loop->getInc(), increments);
    bool standsInHeader = llvm::any_of(increments, [&](const Expr *increment) {
      Statement::Progress progress = Statement::Add;
      const Expr *step = nullptr;
      return readIncrement(increment, each.variable, progress, step);
    });
    auto at = values.find(each.variable);
    bool isKnown = at != values.end() && at->second.kind == each.start.kind;
    if (isKnown && (isInHeader || standsInHeader))
      placeOf(at->second) = placeOf(at->second) + each.by;
    if (!isKnown || !(simplify(placeOf(at->second)) == simplify(moved))) {
      refuse("'" + each.variable->getNameAsString() + "' moves in a way that is not understood");
      return false;
    }
    if (!isPlain) {
      values.erase(each.variable);
      continue;
    }
    Poly last = before + each.by * space.countSteps(result.end - result.begin, result.step);
    placeOf(at->second) = simplify(last);
  }
  return true;
}

/// The largest value of the counter of \p loop, which goes up to a constant.
static int64_t lastValue(const Statement &loop) {
  int64_t last = loop.end.constantTerm() - 1;
  if (loop.progress == Statement::Add && loop.begin.isConstant() && loop.step.isConstant() &&
      last >= loop.begin.constantTerm())
    last -= (last - loop.begin.constantTerm()) % loop.step.constantTerm();
  return last;
}

void ThreadReader::readFor(const ForStmt *loop, Body &out) {
  std::string shown = "'" + sourceText(loop) + "'";
  const VarDecl *variable = countedVariable(loop);
  if (!LoopForms::isCounted(loop, ast))
    return readUncounted(loop, out);
  const Expr *begin = nullptr;
  if (llvm::isa_and_nonnull<DeclStmt>(loop->getInit()))
    begin = variable->getInit();
  else if (loop->getInit())
    begin = llvm::cast<BinaryOperator>(loop->getInit())->getRHS();
  bool goesOn = !loop->getInit(); // from what the variable is
  auto current = values.find(variable);
  QualType type = variable->getType();
  bool isFollowed =
      goesOn ? current != values.end() && current->second.kind == Value::Number : begin != nullptr;
  if (!isFollowed || untracked.count(variable))
    return readWithScalar(loop, variable, out, "the loop " + shown + " is not a counted one");
  const auto *declared = llvm::dyn_cast_or_null<DeclStmt>(loop->getInit());
  bool hasSeveral = declared && !declared->isSingleDecl();
  if (const auto *comma =
          loop->getInc() ? llvm::dyn_cast<BinaryOperator>(strip(loop->getInc())) : nullptr)
    hasSeveral |= comma->getOpcode() == BO_Comma;
  if (declared)
    for (const Decl *each : declared->decls())
      if (const auto *other = llvm::dyn_cast<VarDecl>(each); other && other != variable)
        readVariable(other, out);
  if (failed())
    return;
  Statement result;
  result.kind = Statement::For;
  size_t loadedBefore = loadedForIndex.size();
  std::optional<Integer> first =
      goesOn ? std::optional(current->second.number) : evaluateIndex(begin);
  Guards guards;
  size_t required = program.requirements.size(), owed = program.obligations.size();
  bool isRange = first && demand(*first, goesOn ? loop->getCond() : begin);
  if (isRange)
    result.begin = first->poly;
  isRange = isRange && readHeader(loop, variable, result, guards) &&
            !(type->isUnsignedIntegerType() &&
              (!isNonNegative(first->poly, true) || result.progress == Statement::Down));
  if (!isRange) {
    program.requirements.resize(required);
    program.obligations.erase(program.obligations.begin() + owed, program.obligations.end());
    return readWithScalar(loop, variable, out,
                          "the range of the loop " + shown + " is not understood");
  }
  bool isPlain = guards.tests.empty() && guards.ends.empty();
  if (forms.runsFirst(loop) &&
      (!isPlain || !guards.exits.empty() || result.progress != Statement::Add ||
       !isPositive(result.end - result.begin)))
    return refuse("whether the loop " + shown + " runs more than once is not known");
  if (result.progress == Statement::Add &&
      isNonNegative(simplify(result.begin - result.end), false)) {
    if (!goesOn) // it never runs
      values.erase(variable);
    return;
  }
  frames.push_back({});
  bool isUnrolled = isPlain && guards.exits.empty() && !hasSeveral && !hasBreak(loop->getBody()) &&
                    !hasReturn(loop->getBody()) && unroll(loop, variable, result, out);
  frames.pop_back();
  if (isUnrolled)
    return;
  Space::Variable counter;
  counter.kind = Space::Loop;
  // A loop that goes on counts what the variable named.
  auto named =
      goesOn ? llvm::find_if(program.hints,
                             [&](const Hint &hint) {
                               return hint.name == variable->getName() && hint.poly == result.begin;
                             })
             : program.hints.end();
  if (named != program.hints.end()) {
    program.names.erase(named->name);
    program.hints.erase(named);
  }
  counter.name = uniqueName(variable->getName());
  if (isNonNegative(result.progress == Statement::Add || result.progress == Statement::Double
                        ? result.begin
                        : result.end,
                    false))
    counter.low = 0;
  const Poly &lowest = result.progress == Statement::Double ? result.begin : result.end;
  if (lowest.isConstant() && lowest.constantTerm() >= 1 &&
      (result.progress == Statement::Double || result.progress == Statement::Halve))
    counter.low = lowest.constantTerm();
  if (result.end.isConstant() &&
      (result.progress == Statement::Add || result.progress == Statement::Double))
    counter.high = lastValue(result);
  result.variable = space.add(counter);
  Poly one = Poly::constant(1);
  if (result.progress == Statement::Add || result.progress == Statement::Double)
    program.given[result.variable] = {result.begin, result.end};
  else
    program.given[result.variable] = {result.end, result.begin + one};
  values[variable] = {Value::Number, ofType(Poly::variable(result.variable), type, true), {}, {}};
  Statement around;
  around.kind = Statement::If;
  sortGuards(loop, variable, result, guards, around);
  std::vector<Moving> moving;
  if (!startMoves(loop, variable, result, isPlain, moving))
    return;
  const Stmt *body = loop->getBody();
  if (!guards.exits.empty())
    body = LoopForms::withExits(body, guards.exits, ast);
  bool mayReturn = !loopDepth && !inlined && !somethingFollows;
  frames.push_back({result.variable, result.progress, &result.body, space.size(), mayReturn});
  ++loopDepth;
  if (guards.holds.empty()) {
    readSequence({body}, result.body);
  } else {
    Statement guard;
    guard.kind = Statement::If;
    guard.constraints.assign(guards.holds.begin(), guards.holds.end());
    frames.back().body = &guard.body;
    readGuarded({body}, guard);
    if (!guard.body.empty())
      result.body.push_back(std::move(guard));
  }
  --loopDepth;
  Frame frame = std::move(frames.back());
  frames.pop_back();
  bool isLeft = frame.isLeft || !frame.runs.empty() || (hasReturn(loop) && !stays.empty()) ||
                !around.constraints.empty() || !around.value.text.empty();
  // A bound is loaded once, not in each iteration.
  walk(result.body, [&](Statement &each) {
    bool stores = each.kind == Statement::Store || each.kind == Statement::Atomic;
    for (size_t i = loadedBefore; i < loadedForIndex.size(); ++i)
      if (stores && each.target.base == loadedForIndex[i])
        refuse("the bound of the loop " + shown + " may change");
    return true;
  });
  values.erase(variable);
  // The first value that is too large. Otherwise what the variable is after the loop is not
  // followed.
  Poly rounded = result.end - result.begin + result.step - one;
  bool isComplete = isPlain && !isLeft && result.progress == Statement::Add;
  if (!failed() && !moving.empty() &&
      !endMoves(loop, result, isComplete && isNonNegative(rounded, true), moving))
    return;
  if (isComplete && goesOn && isNonNegative(rounded, true)) {
    Poly last =
        result.begin + result.step * space.countSteps(result.end - result.begin, result.step);
    values[variable] = {Value::Number, ofType(simplify(last), type, true), {}, {}};
  }
  if (result.body.empty() || failed())
    return;
  Body *to = &out;
  bool hasAround = !around.constraints.empty() || !around.value.text.empty();
  if (hasAround)
    to = &around.body;
  endByData(result, frame, loop, *to);
  to->push_back(std::move(result));
  if (hasAround)
    out.push_back(std::move(around));
}

} // namespace kbopt::raise
