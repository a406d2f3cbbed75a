//===- ReadBranches.cpp - Ways out of a loop, and switches --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of branches that end a loop, and of switches, as conditions.
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
  std::string why = isBreak ? "leaves a loop by break" : "returns from within a loop";
  Frame &loop = frames.back();
  if (loop.body != &out || !isIdle(out) || (isReturn && !loop.mayReturn))
    return refuse(why), true;
  Statement guard;
  guard.kind = Statement::If;
  readCondition(branch->getCond(), true, guard, out);
  bool ends = guard.value.text.empty() && !guard.constraints.empty() && isIdle(out);
  for (const Constraint &each : guard.constraints)
    ends &= staysFalse(each, loop);
  if (!ends)
    return refuse(why), true;
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

void ThreadReader::readSwitch(const SwitchStmt *choice, Body &out) {
  std::string shown = "the switch '" + sourceText(choice->getCond()) + "'";
  const auto *block = llvm::dyn_cast<CompoundStmt>(choice->getBody());
  if (!block || choice->getInit() || choice->getConditionVariable())
    return refuse(shown + " is not understood");
  struct Side {
    llvm::SmallVector<std::string> labels;
    bool isDefault = false, isClosed = false;
    Statements statements;
  };
  std::vector<Side> sides;
  for (const Stmt *each : block->body()) {
    if (llvm::isa<SwitchCase>(each)) {
      if (!sides.empty() && !sides.back().isClosed)
        return refuse(shown + " goes on from one case to the next");
      sides.emplace_back();
    }
    for (; llvm::isa<SwitchCase>(each); each = llvm::cast<SwitchCase>(each)->getSubStmt()) {
      const auto *label = llvm::dyn_cast<CaseStmt>(each);
      if (label && label->caseStmtIsGNURange())
        return refuse(shown + " is not understood");
      if (label)
        sides.back().labels.push_back(
            llvm::toString(label->getLHS()->EvaluateKnownConstInt(ast), 10));
      sides.back().isDefault |= !label;
    }
    if (sides.empty() || sides.back().isClosed)
      return refuse(shown + " is not understood");
    if (llvm::isa<BreakStmt>(each))
      sides.back().isClosed = true;
    else if (const auto *inner = llvm::dyn_cast<CompoundStmt>(each);
             inner && !inner->body_empty() && llvm::isa<BreakStmt>(inner->body_back())) {
      sides.back().statements.append(inner->body_begin(), std::prev(inner->body_end()));
      sides.back().isClosed = true;
    } else {
      sides.back().statements.push_back(each);
    }
  }
  Statement asked;
  asked.kind = Statement::Let;
  asked.type = "int";
  asked.value = textOf(choice->getCond(), out);
  asked.value.text = "(int)(" + asked.value.text + ")";
  asked.name = uniqueName("choice");
  std::string name = asked.name, others;
  out.push_back(std::move(asked));
  for (const Side &side : sides)
    for (const std::string &label : side.labels)
      if (!side.isDefault)
        others += (others.empty() ? "" : " && ") + name + " != " + label;
  for (Side &side : sides) {
    Statement taken;
    taken.kind = Statement::If;
    taken.value.text = side.isDefault ? others : "";
    for (const std::string &label : side.labels)
      if (!side.isDefault)
        taken.value.text += (taken.value.text.empty() ? "" : " || ") + name + " == " + label;
    if (taken.value.text.empty())
      taken.value.text = "true";
    if (llvm::any_of(side.statements, [](const Stmt *each) { return containsExit(each); }))
      return refuse(shown + " leaves the kernel or the iteration");
    readSequence(side.statements, taken.body);
    if (!taken.body.empty())
      out.push_back(std::move(taken));
  }
}

} // namespace kbopt::raise
