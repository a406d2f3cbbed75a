//===- ReadExits.cpp - Loops that data ends -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of `break` and `return` in loops, and of loops whose header does not say how
// often they run. Such a loop asks a flag before each iteration; to leave it is to clear the flag
// and to do nothing else in the iteration.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "ThreadReader.h"

using namespace clang;

namespace kbopt::raise {

bool hasBreak(const Stmt *body) {
  if (!body || llvm::isa<ForStmt, WhileStmt, DoStmt, SwitchStmt, LambdaExpr>(body))
    return false;
  return llvm::isa<BreakStmt>(body) || llvm::any_of(body->children(), hasBreak);
}

bool hasReturn(const Stmt *body) {
  if (!body || llvm::isa<LambdaExpr>(body))
    return false;
  return llvm::isa<ReturnStmt>(body) || llvm::any_of(body->children(), hasReturn);
}

bool hasReturnInLoop(const Stmt *body) {
  if (!body || llvm::isa<LambdaExpr>(body))
    return false;
  return llvm::isa<ForStmt, WhileStmt, DoStmt>(body)
             ? hasReturn(body)
             : llvm::any_of(body->children(), hasReturnInLoop);
}

static void clear(const std::string &flag, std::vector<Statement> &out) {
  Statement assign;
  assign.kind = Statement::Assign;
  assign.name = flag;
  assign.value.text = "false";
  out.push_back(std::move(assign));
}

Statement flagOf(const std::string &name) {
  Statement let;
  let.kind = Statement::Let;
  let.name = name;
  let.type = "bool";
  let.value.text = "true";
  return let;
}

void ThreadReader::leaveLoop(Body &out) {
  if (frames.empty())
    return refuse("leaves a loop by break");
  Frame &loop = frames.back();
  if (loop.runs.empty())
    loop.runs = uniqueName("runs");
  clear(loop.runs, out);
}

void ThreadReader::leaveFunction(const ReturnStmt *statement, Body &out) {
  if (inlined)
    readResult(statement, out);
  if (stays.empty())
    stays = uniqueName("stays");
  clear(stays, out);
}

bool ThreadReader::readIfStays(const Stmt *statement, llvm::ArrayRef<const Stmt *> rest,
                               Body &out) {
  if (stays.empty() || rest.empty() || !hasReturnInLoop(statement))
    return false;
  Statement guard;
  guard.kind = Statement::If;
  guard.value.text = stays;
  readSequence(rest, guard.body);
  if (!guard.body.empty())
    out.push_back(std::move(guard));
  return true;
}

void ThreadReader::endByData(Statement &loop, const Frame &frame, const Stmt *written, Body &out) {
  for (const std::string &flag : {frame.runs, hasReturn(written) ? stays : std::string()})
    if (!flag.empty())
      loop.value.text += (loop.value.text.empty() ? "" : " && ") + flag;
  if (!frame.runs.empty())
    out.push_back(flagOf(frame.runs));
  if (loop.value.text.empty())
    return;
  if (loop.progress == Statement::Halve || loop.progress == Statement::Double)
    return refuse("leaves the loop over '" + space[loop.variable].name + "', which does not count");
  countFromZero(program, loop);
  loop.progress = Statement::Until;
}

void ThreadReader::readWithScalar(const ForStmt *loop, const VarDecl *variable, Body &out,
                                  const std::string &reason) {
  llvm::SmallVector<const Expr *> increments;
  splitIncrement(loop->getInc(), increments);
  auto known = values.find(variable);
  bool isKnown = loop->getInit() || (known != values.end() && known->second.kind != Value::Address);
  if (failed() || forms.runsFirst(loop) || !moves[loop].empty() || increments.size() != 1 ||
      !isKnown)
    return refuse(reason);
  if (!loop->getInit() && known->second.kind == Value::Number) {
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName(variable->getName());
    let.type = typeText(variable->getType().getUnqualifiedType());
    Operand value;
    value.kind = Operand::Index;
    value.type = let.type;
    value.bytes = ast.getTypeSizeInChars(variable->getType()).getQuantity();
    value.offset = known->second.number.poly;
    let.value = {"$0", {value}};
    values[variable] = {Value::Scalar, {}, {}, let.name};
    out.push_back(std::move(let));
  }
  untracked.insert(variable);
  if (const auto *assign = llvm::dyn_cast_or_null<BinaryOperator>(loop->getInit());
      assign && variableOf(assign->getLHS()) == variable)
    declareScalar(variable, assign->getRHS(), out);
  readUncounted(loop, out);
}

void ThreadReader::readUncounted(const Stmt *loop, Body &out) {
  UncountedLoop parts = LoopForms::asUncounted(loop, ast);
  if (!parts.reason.empty())
    return refuse(parts.reason + ": '" + sourceText(loop) + "'");
  if (parts.init)
    readStatement(parts.init, out);
  if (failed())
    return;
  Statement result;
  result.kind = Statement::For;
  result.end = Poly::constant(kb::OverOp::unbounded);
  result.step = Poly::constant(1);
  Space::Variable counter;
  counter.kind = Space::Loop;
  counter.name = uniqueName("turn");
  counter.low = 0;
  result.variable = space.add(counter);
  program.given[result.variable] = {result.begin, result.end};
  frames.push_back({result.variable, Statement::Until, nullptr, space.size(), false});
  ++loopDepth;
  readSequence({parts.body}, result.body);
  --loopDepth;
  Frame frame = std::move(frames.back());
  frames.pop_back();
  if (failed())
    return;
  endByData(result, frame, loop, out);
  if (result.value.text.empty())
    return refuse("the loop '" + sourceText(loop) + "' does not end");
  out.push_back(std::move(result));
}

} // namespace kbopt::raise
