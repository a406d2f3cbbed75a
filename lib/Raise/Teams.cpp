//===- Teams.cpp - Undoing the cooperation of threads ------------------------===//
//
// Owns the choice of the team: the threads of a block, of a warp, or of a part of a warp.
//
//===----------------------------------------------------------------------===//
#include "Teams.h"

#include "TeamUndo.h"

namespace kbopt::raise {
namespace {

/// What shows that threads work together.
struct Signs {
  bool cooperates = false, usesShared = false, usesBlockBarrier = false;
  std::set<int64_t> groups;   ///< sizes g where tid % g or tid / g stands
  std::vector<Poly> strides;  ///< steps of loops that start at a thread's number
};

Signs findSigns(ThreadProgram &program) {
  Signs signs;
  Space &space = program.space;
  walk(program.body, [&](Statement &each) {
    if (each.kind == Statement::Barrier) {
      signs.cooperates = true;
      signs.usesBlockBarrier |= each.function != "__syncwarp";
    }
    forEachOperand(each, [&](Operand &operand) {
      bool isShared = operand.kind == Operand::Element && operand.base.memory == Base::Shared;
      signs.usesShared |= isShared;
      signs.cooperates |= isShared || operand.kind == Operand::Collective;
    });
    if (each.kind == Statement::For && each.progress == Statement::Add && space.dependsOn(each.begin, analysis::TidVar))
      signs.strides.push_back(each.step);
    return true;
  });
  rewritePolys(program.body, [&](const Poly &poly) {
    for (VarId var : space.variables(poly)) {
      const Space::Variable &known = space[var];
      bool isDivision = known.kind == Space::Mod || known.kind == Space::FloorDiv;
      if (isDivision && known.divisor.isConstant() && known.dividend == Poly::variable(analysis::TidVar))
        signs.groups.insert(known.divisor.constantTerm());
    }
    return poly;
  });
  return signs;
}

bool mentionsVariable(ThreadProgram &program, VarId var) {
  bool does = false;
  rewritePolys(program.body, [&](const Poly &poly) {
    does |= program.space.dependsOn(poly, var);
    return poly;
  });
  return does;
}

/// Everywhere in \p program.
void substitute(ThreadProgram &program, VarId var, const Poly &value) {
  auto change = [&](const Poly &poly) { return program.space.substitute(poly, var, value); };
  rewritePolys(program.body, change);
  for (Poly &requirement : program.requirements)
    requirement = change(requirement);
  for (Obligation &obligation : program.obligations)
    obligation.poly = change(obligation.poly);
}

/// Nothing may be left that needs other threads.
void checkUndone(ThreadProgram &program, VarId lane) {
  walk(program.body, [&](Statement &each) {
    if (each.kind == Statement::Barrier)
      program.refuse("a barrier is not understood");
    forEachOperand(each, [&](Operand &operand) {
      if (operand.kind == Operand::Collective)
        program.refuse("what '" + operand.function + "' does is not understood");
      if (operand.kind == Operand::Element && operand.base.memory == Base::Shared)
        program.refuse("what the shared array '" + operand.base.name + "' holds is not understood");
    });
    return true;
  });
  if (program.reason.empty() && mentionsVariable(program, lane))
    program.refuse("the threads of a team work on one point, but some of what they do depends on the thread");
}

/// The program if the threads of a block are the team. \p size is what bdim.x must be, where it is known.
ThreadProgram undoBlock(ThreadProgram program, std::optional<int64_t> size) {
  Poly one = Poly::constant(1);
  for (VarId other : {analysis::TidVar + 1, analysis::TidVar + 2})
    if (mentionsVariable(program, other))
      program.refuse("the threads of a block work together in two dimensions");
  if (!program.reason.empty())
    return program;
  Poly width = Poly::variable(analysis::BdimVar);
  for (VarId other : {analysis::BdimVar + 1, analysis::BdimVar + 2}) {
    substitute(program, other, one);
    program.requirements.push_back(one - Poly::variable(other));
  }
  if (size) {
    substitute(program, analysis::BdimVar, Poly::constant(*size));
    program.requirements.push_back(width - Poly::constant(*size));
    program.requirements.push_back(Poly::constant(*size) - width);
  }
  Team team;
  team.size = size ? Poly::constant(*size) : width;
  TeamUndo(program, team).run();
  if (program.reason.empty())
    checkUndone(program, team.lane);
  program.isBlockUndone = true;
  return program;
}

/// The program if groups of \p size consecutive threads are the teams.
ThreadProgram undoGroups(ThreadProgram program, int64_t size) {
  Space &space = program.space;
  Poly tid = Poly::variable(analysis::TidVar), number = Poly::constant(size);
  Poly lane = space.mod(tid, number), group = space.floorDiv(tid, number);
  VarId laneVar = lane.monomials().begin()->first[0];
  Space::Variable variable;
  variable.kind = Space::Loop;
  variable.name = "lane";
  variable.low = 0;
  variable.high = size - 1;
  Team team;
  team.lane = space.add(variable);
  team.size = number;
  team.isBlock = false;
  substitute(program, laneVar, Poly::variable(team.lane));
  TeamUndo(program, team).run();
  if (!program.reason.empty())
    return program;
  checkUndone(program, team.lane);
  // Groups may not reach from one row of threads into the next.
  Poly rest = space.mod(Poly::variable(analysis::BdimVar), number);
  program.requirements.push_back(rest * Poly::constant(-1));
  return program;
}

} // namespace

void undoCooperation(ThreadProgram &program) {
  if (!program.reason.empty())
    return;
  Signs signs = findSigns(program);
  if (!signs.cooperates)
    return;
  std::vector<ThreadProgram> tried;
  auto attempt = [&](ThreadProgram result) {
    tried.push_back(std::move(result));
    return tried.back().reason.empty();
  };
  bool done = false;
  for (int64_t size : signs.groups)
    if (!done && !signs.usesShared && size >= 2 && size <= 32 && llvm::isPowerOf2_64(size))
      done = attempt(undoGroups(program, size));
  if (!done)
    done = attempt(undoBlock(program, std::nullopt));
  for (const Poly &stride : signs.strides)
    if (!done && stride.isConstant())
      done = attempt(undoBlock(program, stride.constantTerm()));
  for (const SharedArray &array : program.shared)
    if (!done && array.elements.isConstant() && array.elements.constantTerm() <= 1024)
      done = attempt(undoBlock(program, array.elements.constantTerm()));
  if (!done && !signs.usesShared)
    done = attempt(undoBlock(program, 32));
  if (done)
    program = std::move(tried.back());
  else
    program.refuse(tried.front().reason);
}

} // namespace kbopt::raise
