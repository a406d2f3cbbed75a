//===- HostStatements.cpp - Statements of the host -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostEvaluator.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;

HostEvaluator::HostEvaluator(const ParsedProgram &program, const FunctionDecl *host,
                             const std::set<std::string> &changedNames,
                             const RecordedValues &values, ExprFacts &facts, HostState &state,
                             const AddedFunctions &added)
    : program(program), ast(program.context()), host(host), changedNames(changedNames),
      values(values), facts(facts), state(state), added(added), frames(1) {}

bool HostEvaluator::confirmsValues() {
  for (const auto &[expr, value] : values.expressions()) {
    const Result computed = evaluateNew(expr);
    if (computed && !changesState && !isSame(*computed, value))
      return false;
    whyNot.clear(); // what cannot be computed confirms nothing
  }
  return true;
}

std::nullopt_t HostEvaluator::refuse(const Stmt *statement, const llvm::Twine &why) {
  if (!whyNot.empty())
    return std::nullopt;
  const LineColumn at = lineColumn(program, statement->getBeginLoc());
  whyNot = (at.line ? "line " + std::to_string(at.line) + ": " : std::string()) + why.str();
  return std::nullopt;
}

bool HostEvaluator::run(llvm::ArrayRef<const Stmt *> statements) {
  for (const Stmt *statement : statements) {
    const Flow flow = execute(statement);
    if (flow != Flow::Next && flow != Flow::Stop)
      refuse(statement, "what follows the launch may not run");
    if (flow != Flow::Next)
      return false;
  }
  return true;
}

HostEvaluator::Flow HostEvaluator::execute(const Stmt *statement) {
  if (!statement || isa<NullStmt>(statement))
    return Flow::Next;
  if (++work > mostWork) {
    refuse(statement, "too much is computed in the place of a launch");
    return Flow::Stop;
  }
  if (const auto *expr = dyn_cast<Expr>(statement))
    return evaluate(expr) ? Flow::Next : Flow::Stop;
  if (const auto *list = dyn_cast<CompoundStmt>(statement)) {
    for (const Stmt *each : list->body())
      if (const Flow flow = execute(each); flow != Flow::Next)
        return flow;
    return Flow::Next;
  }
  if (const auto *attributed = dyn_cast<AttributedStmt>(statement))
    return execute(attributed->getSubStmt());
  if (const auto *declarations = dyn_cast<DeclStmt>(statement)) {
    for (const Decl *each : declarations->decls())
      if (const auto *variable = dyn_cast<VarDecl>(each); variable && !declare(variable))
        return Flow::Stop;
    return Flow::Next;
  }
  if (const auto *choice = dyn_cast<IfStmt>(statement)) {
    if (const Flow flow = execute(choice->getInit()); flow != Flow::Next)
      return flow;
    if (const VarDecl *variable = choice->getConditionVariable(); variable && !declare(variable))
      return Flow::Stop;
    const std::optional<bool> holds = truth(choice->getCond());
    return !holds ? Flow::Stop : execute(*holds ? choice->getThen() : choice->getElse());
  }
  if (const auto *loop = dyn_cast<ForStmt>(statement); loop && !loop->getConditionVariable())
    return executeLoop(loop->getInit(), loop->getCond(), loop->getInc(), loop->getBody(), true);
  if (const auto *loop = dyn_cast<WhileStmt>(statement); loop && !loop->getConditionVariable())
    return executeLoop(nullptr, loop->getCond(), nullptr, loop->getBody(), true);
  if (const auto *loop = dyn_cast<DoStmt>(statement))
    return executeLoop(nullptr, loop->getCond(), nullptr, loop->getBody(), false);
  if (const auto *end = dyn_cast<ReturnStmt>(statement)) {
    returned = {};
    if (const Expr *value = end->getRetValue()) {
      Result result = evaluate(value);
      if (!result)
        return Flow::Stop;
      returned = std::move(*result);
    }
    return Flow::Return;
  }
  if (isa<BreakStmt>(statement))
    return Flow::Break;
  if (isa<ContinueStmt>(statement))
    return Flow::Continue;
  refuse(statement, llvm::Twine("a ") + statement->getStmtClassName() + " is not followed");
  return Flow::Stop;
}

HostEvaluator::Flow HostEvaluator::executeLoop(const Stmt *init, const Expr *condition,
                                               const Expr *step, const Stmt *body,
                                               bool testsFirst) {
  if (const Flow flow = execute(init); flow != Flow::Next)
    return flow;
  for (bool isFirst = true;; isFirst = false) {
    if (condition && (testsFirst || !isFirst)) {
      const std::optional<bool> holds = truth(condition);
      if (!holds)
        return Flow::Stop;
      if (!*holds)
        return Flow::Next;
    }
    const Flow flow = execute(body);
    if (flow == Flow::Break)
      return Flow::Next;
    if (flow == Flow::Return || flow == Flow::Stop)
      return flow;
    if (step && !evaluate(step))
      return Flow::Stop;
    if (++work > mostWork) {
      refuse(body, "too much is computed in the place of a launch");
      return Flow::Stop;
    }
  }
}

bool HostEvaluator::declare(const VarDecl *variable) {
  const bool isStatic = variable->isStaticLocal();
  if (isStatic) {
    changesState = true;
    if (state.statics.count(variable))
      return true;
  }
  HostValue value;
  const Expr *init = variable->getInit();
  const auto *construct = init ? dyn_cast<CXXConstructExpr>(init->IgnoreImplicit()) : nullptr;
  const bool isUnset =
      !init || (construct && !construct->getNumArgs() && !isDim3(variable->getType()));
  QualType type = variable->getType();
  if (type->isReferenceType() && !type.getNonReferenceType().isConstQualified()) {
    whyNot = "'" + variable->getNameAsString() + "' is a reference";
    return false;
  }
  if (!isUnset) {
    Result result = evaluate(init);
    if (!result)
      return false;
    value = std::move(*result);
  } else if (isStatic) {
    if (type->isPointerType())
      value = Address{};
    else if (type->isIntegralOrEnumerationType())
      value = integerOf(0, type, ast);
  }
  (isStatic ? state.statics : frames.back().variables)[variable] = std::move(value);
  return true;
}
