//===- ReadBranches.cpp - Ends of a loop's range ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of branches that end a loop as conditions on its counter.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"

using namespace clang;

namespace kbopt::raise {

/// Whether \p body can be left out without a trace, and reads no memory.
static bool isIdle(const std::vector<Statement> &body) {
  return llvm::all_of(body, [](const Statement &each) {
    return each.kind == Statement::Let &&
           llvm::all_of(each.value.operands,
                        [](const Operand &operand) { return operand.kind == Operand::Index; });
  });
}

bool ThreadReader::staysFalse(const Constraint &constraint, const Frame &loop) const {
  Poly slope = constraint.poly.coefficientOf(loop.variable);
  if (!slope.isConstant() || space.dependsOn(constraint.poly.without(loop.variable), loop.variable))
    return false;
  for (VarId var : space.variables(constraint.poly))
    if (var >= loop.known && space[var].kind == Space::Varying)
      return false;
  bool goesUp = loop.progress == Statement::Add || loop.progress == Statement::Double;
  int64_t gain = goesUp ? slope.constantTerm() : -slope.constantTerm();
  return constraint.isEquality ? gain == 0 : gain <= 0;
}

bool ThreadReader::readLeave(const IfStmt *branch, llvm::ArrayRef<const Stmt *> rest, Body &out) {
  const Stmt *exit = onlyStatement(branch->getThen());
  bool isBreak = exit && llvm::isa<BreakStmt>(exit), isReturn = exit && llvm::isa<ReturnStmt>(exit);
  if ((!isBreak && !isReturn) || frames.empty() || branch->getInit() ||
      branch->getConditionVariable())
    return false;
  Frame &loop = frames.back();
  if (loop.body != &out || !isIdle(out) || (isReturn && !loop.mayReturn))
    return false;
  Statement guard;
  guard.kind = Statement::If;
  size_t size = out.size();
  readCondition(branch->getCond(), true, guard, out);
  bool ends = guard.value.text.empty() && !guard.constraints.empty() && isIdle(out);
  for (const Constraint &each : guard.constraints)
    ends &= staysFalse(each, loop);
  if (!ends) {
    out.resize(size);
    loadedIndices.clear();
    return failed();
  }
  loop.isLeft = true;
  loop.body = &guard.body;
  Statements inner;
  if (branch->getElse())
    inner.push_back(branch->getElse());
  inner.append(rest.begin(), rest.end());
  readSequence(inner, guard.body);
  frames.back().body = nullptr;
  if (!guard.body.empty())
    out.push_back(std::move(guard));
  return true;
}

} // namespace kbopt::raise
