//===- ReadStatements.cpp - Statements of one thread -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of a kernel's statements in the order of its text, with early returns and
// `continue` turned into conditions.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/Attr.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace clang;

namespace kbopt::raise {

ThreadProgram readThread(const FunctionDecl *kernel, bool liftsChoices, const Reading &reading) {
  ThreadProgram program;
  program.isOneBlock = reading.isLast;
  ThreadReader(kernel, program, liftsChoices, reading).read();
  return program;
}

ThreadReader::ThreadReader(const FunctionDecl *kernel, ThreadProgram &program, bool liftsChoices,
                           const Reading &reading)
    : kernel(kernel), ast(kernel->getASTContext()), program(program), space(program.space),
      liftsChoices(liftsChoices), reading(reading), side(reading.side) {}

void ThreadReader::read() {
  const LastBlock *split = reading.split;
  const Stmt *body = !split ? kernel->getBody() : reading.isLast ? split->last : split->first;
  if (!body)
    return refuse("its body is not in sight");
  findUntrackedVariables(body, ast, untracked, forms, moves, choices, liftsChoices);
  cooperates = mayCooperate(body);
  liftsChoices |= !cooperates;
  readParameters();
  findFields();
  readSequence({body}, program.body);
  if (split && !reading.isLast && !failed())
    requireCount(*split);
  if (reading.isLast)
    rewritePolys(program.body, [&](const Poly &poly) {
      for (VarId axis : {0, 1, 2})
        if (space.dependsOn(poly, analysis::BidVar + axis))
          refuse("its last block uses its number");
      return poly;
    });
  if (!stays.empty())
    program.body.insert(program.body.begin(), flagOf(stays));
  if (!failed() && !quotients.empty())
    settleQuotients(program.body);
  checkCastShared();
  checkFields();
  splitSharedParts();
}

void ThreadReader::readParameters() {
  for (const ParmVarDecl *parameter : kernel->parameters()) {
    program.names.insert(parameter->getNameAsString());
    QualType type = parameter->getType();
    unsigned index = parameter->getFunctionScopeIndex();
    bool isVolatile = type->isPointerType() && type->getPointeeType().isVolatileQualified();
    // What blocks leave for the last one is mostly volatile: nothing may be kept in registers. The
    // first nest stores all of it before the last one loads it.
    if (type.isVolatileQualified() || (isVolatile && !reading.split))
      return refuse("'" + parameter->getNameAsString() + "' is volatile");
    if (untracked.count(parameter) && type->isArithmeticType()) {
      Statement copy; // the kernel changes it
      copy.kind = Statement::Let;
      copy.name = uniqueName(parameter->getName());
      copy.type = typeText(type.getUnqualifiedType());
      copy.value.text = parameter->getNameAsString();
      values[parameter] = {Value::Scalar, {}, {}, copy.name};
      program.body.push_back(std::move(copy));
    }
    if (untracked.count(parameter))
      continue; // or a pointer that is not understood
    if (type->isPointerType()) {
      Value value{Value::Address, {}, {}, {}};
      value.address.base = {kb::BaseKind::Argument, parameter->getNameAsString(), int(index), 0,
                            Base::Global};
      value.address.element = type->getPointeeType();
      if (isVolatile)
        value.address.element.removeLocalVolatile();
      values[parameter] = value;
    } else if (type->isIntegralOrEnumerationType() && !type->isBooleanType() &&
               ast.getTypeSize(type) >= 32) {
      Space::Variable symbol;
      symbol.kind = Space::Param;
      symbol.name = parameter->getNameAsString();
      symbol.argument = index;
      symbol.bits = ast.getTypeSize(type);
      symbol.isSigned = type->isSignedIntegerOrEnumerationType();
      if (symbol.bits == 32)
        symbol.high = symbol.isSigned ? (int64_t)INT32_MAX : (int64_t)UINT32_MAX;
      if (!symbol.isSigned)
        symbol.low = 0;
      values[parameter] = {
          Value::Number, ofType(Poly::variable(space.add(symbol)), type, true), {}, {}};
    }
  }
}

/// Whether the last thing that \p statement does is to leave the kernel or the iteration.
static bool endsInExit(const Stmt *statement) {
  if (const auto *block = llvm::dyn_cast_or_null<CompoundStmt>(statement))
    return !block->body_empty() && endsInExit(block->body_back());
  return llvm::isa_and_nonnull<ReturnStmt, ContinueStmt, BreakStmt>(statement);
}

bool containsExit(const Stmt *statement) {
  if (!statement || llvm::isa<ForStmt, WhileStmt, DoStmt, LambdaExpr>(statement))
    return false;
  if (llvm::isa<ReturnStmt, ContinueStmt, BreakStmt>(statement))
    return true;
  // The break of a switch only ends the switch.
  if (llvm::isa<SwitchStmt>(statement))
    return hasReturn(statement) || containsContinue(statement);
  return llvm::any_of(statement->children(), [](const Stmt *child) { return containsExit(child); });
}

void ThreadReader::readSequence(llvm::ArrayRef<const Stmt *> statements, Body &out) {
  Body *outer = std::exchange(before, &out);
  loadedIndices.clear();
  llvm::scope_exit leave([&] {
    before = outer;
    loadedIndices.clear();
  });
  for (size_t i = 0; i < statements.size() && !failed(); ++i) {
    const Stmt *each = statements[i];
    if (!each)
      continue;
    llvm::ArrayRef<const Stmt *> rest = statements.drop_front(i + 1);
    if (const auto *attributed = llvm::dyn_cast<AttributedStmt>(each))
      each = attributed->getSubStmt();
    if (const auto *block = llvm::dyn_cast<CompoundStmt>(each)) {
      Statements inner(block->body_begin(), block->body_end());
      inner.append(rest.begin(), rest.end());
      return readSequence(inner, out);
    }
    if (const Stmt *once = LoopForms::runsOnce(each, ast)) {
      Statements inner{once};
      inner.append(rest.begin(), rest.end());
      return readSequence(inner, out);
    }
    if (const auto *branch = llvm::dyn_cast<IfStmt>(each)) {
      if (std::optional<const Stmt *> taken = constantSide(branch, ast)) {
        Statements inner;
        if (*taken)
          inner.push_back(*taken);
        inner.append(rest.begin(), rest.end());
        return readSequence(inner, out);
      }
      if (const Stmt *taken = launchSideOf(branch)) {
        Statements inner{taken};
        inner.append(rest.begin(), rest.end());
        return readSequence(inner, out);
      }
      if (readLeave(branch, rest, out))
        return;
      if (containsExit(branch) || choices.count(branch))
        return readIf(branch, rest, out);
      llvm::SaveAndRestore follows(somethingFollows, somethingFollows || !rest.empty());
      readIf(branch, {}, out);
      if (readIfStays(branch, rest, out))
        return;
      continue;
    }
    if (const auto *choice = llvm::dyn_cast<SwitchStmt>(each)) {
      Statements inner = asBranches(choice);
      inner.append(rest.begin(), rest.end());
      return failed() ? void() : readSequence(inner, out);
    }
    if (const IfStmt *branch = choiceOf(each))
      return readIf(branch, rest, out);
    if (const auto *result = llvm::dyn_cast<ReturnStmt>(each)) {
      if (loopDepth)
        leaveFunction(result, out);
      else if (inlined)
        readResult(result, out);
      return;
    }
    if (llvm::isa<BreakStmt>(each))
      return leaveLoop(out);
    if (llvm::isa<ContinueStmt>(each))
      return;
    loadedIndices.clear(); // a store may change what was loaded
    llvm::SaveAndRestore follows(somethingFollows, somethingFollows || !rest.empty());
    readStatement(each, out);
    if (readIfStays(each, rest, out))
      return;
  }
}

void ThreadReader::readGuarded(llvm::ArrayRef<const Stmt *> statements, Statement &condition) {
  size_t outer = given.size();
  given.append(condition.constraints.begin(), condition.constraints.end());
  readSequence(statements, condition.body);
  given.truncate(outer);
}

const Stmt *ThreadReader::launchSideOf(const IfStmt *branch) {
  if (!branch->getElse() || loopDepth || inlined || !given.empty() || branch->getInit() ||
      branch->getConditionVariable() || failed())
    return nullptr;
  Statement condition;
  Body nothing;
  size_t before = program.obligations.size();
  readCondition(branch->getCond(), side == LaunchSide::Else, condition, nothing);
  bool isUniform = nothing.empty() && condition.value.text.empty() &&
                   !condition.constraints.empty() && program.obligations.size() == before &&
                   !failed();
  for (const Constraint &each : condition.constraints)
    isUniform &= space.isUniform(each.poly) && !each.poly.isConstant();
  program.hasLaunchChoice |= isUniform;
  if (!isUniform || side == LaunchSide::Both || side == LaunchSide::Multiples)
    return nullptr;
  for (const Constraint &each : condition.constraints) {
    require(each.poly);
    if (each.isEquality)
      require(Poly() - each.poly);
  }
  return side == LaunchSide::Then ? branch->getThen() : branch->getElse();
}

void ThreadReader::readIf(const IfStmt *branch, llvm::ArrayRef<const Stmt *> rest, Body &out) {
  if (branch->getInit() || branch->getConditionVariable())
    return refuse("an if statement declares a variable in its head");
  if (rest.empty() && readConditionalMaximum(branch, out))
    return;
  // What follows an exit belongs to the other side.
  Statements thenSide{branch->getThen()}, elseSide;
  if (branch->getElse())
    elseSide.push_back(branch->getElse());
  bool thenExits = endsInExit(branch->getThen()), elseExits = endsInExit(branch->getElse());
  if (!rest.empty()) {
    // What follows is then read once for each side.
    if (!thenExits && !elseExits && ++copies > 6)
      return refuse(choices.empty() ? "a return or continue stands deep inside of conditions"
                                    : "conditions give pointers their values too often");
    if (!thenExits)
      thenSide.append(rest.begin(), rest.end());
    if (!elseExits)
      elseSide.append(rest.begin(), rest.end());
  }
  Statement taken, other;
  taken.kind = other.kind = Statement::If;
  liftNested(branch->getCond(), out);
  readCondition(branch->getCond(), false, taken, out);
  if (failed())
    return;
  if (llvm::any_of(taken.constraints, [&](const Constraint &each) { return isImpossible(each); }))
    return readSequence(elseSide, out);
  // Either side starts with what variables are before the branch.
  std::map<const VarDecl *, Value> valuesBefore = values;
  readGuarded(thenSide, taken);
  if (!rest.empty())
    values = std::move(valuesBefore);
  // What ends a loop must have one answer, whatever the compiler makes of its operations.
  bool isAskedOnce = !isStable(taken, taken.body) ||
                     (hasBreak(branch) && taken.constraints.empty() && !taken.value.text.empty());
  if (!elseSide.empty() && !taken.body.empty() && isAskedOnce) {
    // The condition is asked once.
    Statement asked;
    asked.kind = Statement::Let;
    asked.name = uniqueName("taken");
    asked.type = "bool";
    asked.value = std::exchange(taken.value, {});
    taken.value.text = asked.name;
    other.constraints = {};
    bool isPlain = taken.constraints.empty();
    if (!isPlain)
      return refuse("'" + sourceText(branch->getCond()) + "' may change in its own branch");
    out.push_back(std::move(asked));
    other.value.text = "!" + taken.value.text;
    readSequence(elseSide, other.body);
  } else if (!elseSide.empty()) {
    readCondition(branch->getCond(), true, other, out);
    readGuarded(elseSide, other);
  }
  other.isElse = !taken.body.empty();
  if (!taken.body.empty())
    out.push_back(std::move(taken));
  if (!other.body.empty())
    out.push_back(std::move(other));
}

const IfStmt *ThreadReader::choiceOf(const Stmt *statement) {
  const VarDecl *variable = nullptr;
  const Expr *value = nullptr;
  if (const auto *declaration = llvm::dyn_cast<DeclStmt>(statement);
      declaration && declaration->isSingleDecl()) {
    variable = llvm::dyn_cast<VarDecl>(declaration->getSingleDecl());
    value = variable ? variable->getInit() : nullptr;
  } else if (const auto *assign = llvm::dyn_cast<BinaryOperator>(statement);
             assign && assign->getOpcode() == BO_Assign) {
    variable = variableOf(assign->getLHS());
    value = assign->getRHS();
  }
  const auto *choice = value ? llvm::dyn_cast<ConditionalOperator>(strip(value)) : nullptr;
  bool isConstant = false;
  if (!choice || !variable || !variable->isLocalVarDecl() ||
      !variable->getType()->isPointerType() || untracked.count(variable) ||
      choice->getCond()->isValueDependent() ||
      choice->getCond()->EvaluateAsBooleanCondition(isConstant, ast))
    return nullptr;
  QualType type = variable->getType();
  Stmt *sides[2];
  for (unsigned i : {0, 1}) {
    SourceLocation place = choice->getExprLoc();
    auto *name = DeclRefExpr::Create(ast, {}, {}, const_cast<VarDecl *>(variable), false, place,
                                     type, VK_LValue);
    sides[i] =
        BinaryOperator::Create(ast, name, i ? choice->getFalseExpr() : choice->getTrueExpr(),
                               BO_Assign, type, VK_LValue, OK_Ordinary, place, FPOptionsOverride());
  }
  return IfStmt::Create(ast, choice->getExprLoc(), IfStatementKind::Ordinary, nullptr, nullptr,
                        choice->getCond(), choice->getExprLoc(), choice->getExprLoc(), sides[0],
                        choice->getExprLoc(), sides[1]);
}

void ThreadReader::readStatement(const Stmt *statement, Body &out) {
  if (llvm::isa<NullStmt>(statement))
    return;
  if (const auto *declaration = llvm::dyn_cast<DeclStmt>(statement)) {
    for (const Decl *each : declaration->decls())
      if (const auto *variable = llvm::dyn_cast<VarDecl>(each))
        readVariable(variable, out);
    return;
  }
  if (llvm::isa<ForStmt, WhileStmt, DoStmt>(statement)) {
    const ForStmt *loop = forms.asFor(statement, ast);
    return loop ? readFor(loop, out) : readUncounted(statement, out);
  }
  if (const auto *expr = llvm::dyn_cast<Expr>(statement))
    return readExpression(expr, out);
  if (llvm::isa<AsmStmt>(statement))
    return refuse("has inline assembly");
  refuse("has a statement that is not understood: '" + sourceText(statement) + "'");
}

//===-- Expressions as statements -----------------------------------------===//

void ThreadReader::readExpression(const Expr *expr, Body &out) {
  expr = strip(expr);
  liftNested(expr, out, true);
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(expr);
      cast && cast->getType()->isVoidType())
    return;
  if (const auto *binary = llvm::dyn_cast<BinaryOperator>(expr)) {
    if (binary->getOpcode() == BO_Comma) {
      readExpression(binary->getLHS(), out);
      return readExpression(binary->getRHS(), out);
    }
    if (binary->isAssignmentOp()) {
      llvm::StringRef opcode = binary->getOpcodeStr();
      return readAssignment(binary->getLHS(), binary->getRHS(), opcode.drop_back(), out);
    }
  }
  if (const auto *unary = llvm::dyn_cast<UnaryOperator>(expr);
      unary && unary->isIncrementDecrementOp())
    return readAssignment(unary->getSubExpr(), nullptr, unary->isIncrementOp() ? "+" : "-", out);
  if (const auto *operation = llvm::dyn_cast<CXXOperatorCallExpr>(expr);
      operation && operation->isAssignmentOp()) {
    std::string opcode = getOperatorSpelling(operation->getOperator());
    const FunctionDecl *callee = operation->getDirectCallee();
    bool isKnown = callee && ast.getSourceManager().isInSystemHeader(callee->getLocation());
    const auto *method = llvm::dyn_cast_or_null<CXXMethodDecl>(callee);
    isKnown |= method && (method->isTrivial() || method->isDefaulted());
    if (isKnown && operation->getNumArgs() == 2)
      return readAssignment(operation->getArg(0), operation->getArg(1),
                            llvm::StringRef(opcode).drop_back(), out);
  }
  if (const auto *call = llvm::dyn_cast<CallExpr>(expr); call && readCall(call, out))
    return;
  if (const auto *choice = llvm::dyn_cast<ConditionalOperator>(expr);
      choice && readAssertion(choice, out))
    return;
  if (!expr->HasSideEffects(ast))
    return;
  refuse("'" + sourceText(expr) + "' is not understood");
}

/// assert(x) where x is the same for the whole launch: a requirement.
bool ThreadReader::readAssertion(const ConditionalOperator *choice, Body &out) {
  const auto *call = llvm::dyn_cast<CallExpr>(strip(choice->getFalseExpr()));
  const Expr *condition = strip(choice->getCond());
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(condition))
    condition = strip(cast->getSubExpr());
  if (!call || calleeName(call) != "__assert_fail" || choice->getTrueExpr()->HasSideEffects(ast))
    return false;
  Statement asserted;
  Body nothing;
  readCondition(condition, false, asserted, nothing);
  bool isUniform = asserted.value.text.empty() && nothing.empty();
  for (const Constraint &each : asserted.constraints)
    isUniform &= space.isUniform(each.poly);
  if (!isUniform || failed())
    return false;
  for (const Constraint &each : asserted.constraints) {
    require(each.poly);
    if (each.isEquality)
      require(Poly() - each.poly);
  }
  return true;
}

std::string shiftHoles(llvm::StringRef text, unsigned by) {
  std::string result;
  for (size_t at; (at = text.find('$')) != llvm::StringRef::npos;) {
    result += text.take_front(at + 1);
    text = text.drop_front(at + 1);
    unsigned hole = 0;
    text.consumeInteger(10, hole);
    result += std::to_string(hole + by);
  }
  return result + text.str();
}

} // namespace kbopt::raise
