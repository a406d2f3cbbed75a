//===- Teams.cpp - Undoing the cooperation of threads ------------------------===//
// SPDX-License-Identifier: Apache-2.0
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
  std::set<int64_t> groups;  ///< sizes g where tid % g or tid / g stands
  std::vector<Poly> strides; ///< steps of loops that start at a thread's number
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
      int64_t size = 0;
      if (operand.function == "block_reduce" &&
          !llvm::StringRef(operand.arguments[0].text).getAsInteger(10, size))
        signs.strides.push_back(Poly::constant(size));
    });
    if (each.kind == Statement::For && each.progress == Statement::Add &&
        space.dependsOn(each.begin, analysis::TidVar))
      signs.strides.push_back(each.step);
    return true;
  });
  rewritePolys(program.body, [&](const Poly &poly) {
    for (VarId var : space.variables(poly)) {
      const Space::Variable &known = space[var];
      bool isDivision = known.kind == Space::Mod || known.kind == Space::FloorDiv;
      if (isDivision && known.divisor.isConstant() && known.dividend.contains(analysis::TidVar))
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
    program.refuse(
        "the threads of a team work on one point, but some of what they do depends on the thread");
}

/// The program if the threads of a block are the team. \p size is what bdim.x must be: a number or
/// a parameter.
ThreadProgram undoBlock(ThreadProgram program, std::optional<Poly> size) {
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
    substitute(program, analysis::BdimVar, *size);
    program.requirements.push_back(width - *size);
    program.requirements.push_back(*size - width);
  }
  Team team;
  team.size = size ? *size : width;
  TeamUndo(program, team).run();
  if (program.reason.empty())
    checkUndone(program, team.lane);
  program.isBlockUndone = program.isPointBlock = true;
  return program;
}

/// A program and what bdim.x stands for in it.
struct Attempt {
  ThreadProgram program;
  std::optional<Poly> width;
  int64_t groupSize = 0; ///< 0: the teams are rows of threads
};

/// The name under which the launch's bdim.x waits until points are formed.
constexpr llvm::StringLiteral setAside = "bdim.x of the launch";

/// The program if groups of \p size consecutive threads are the teams.
Attempt undoGroups(ThreadProgram program, int64_t size) {
  Space &space = program.space;
  auto addFixed = [&](llvm::StringRef name, int64_t low, int64_t high) {
    Space::Variable variable;
    variable.kind = Space::Fixed;
    variable.name = name.str();
    variable.low = low;
    variable.high = high;
    return space.add(variable);
  };
  Poly number = Poly::constant(size), tid = Poly::variable(analysis::TidVar),
       bdim = Poly::variable(analysis::BdimVar);
  auto only = [](const Poly &poly) { return poly.monomials().begin()->first[0]; };
  VarId lane = only(space.mod(tid, number)), group = only(space.floorDiv(tid, number));
  VarId groups = only(space.floorDiv(bdim, number));
  Team team;
  team.lane = addFixed("lane", 0, size - 1);
  team.size = number;
  team.isBlock = false;
  VarId groupNumber = addFixed("group", 0, 1024 / size - 1),
        groupCount = addFixed("groups", 1, 1024 / size);
  VarId width = addFixed(setAside, 1, 1024);
  substitute(program, lane, Poly::variable(team.lane));
  substitute(program, group, Poly::variable(groupNumber));
  substitute(program, groups, Poly::variable(groupCount));
  // The same digits of the thread's number in the grid: blocks hold whole groups.
  Poly inGrid = Poly::variable(analysis::BidVar) * bdim + tid;
  for (VarId var = analysis::FirstOtherVar, end = space.size(); var < end; ++var) {
    const Space::Variable known = space[var];
    if (known.dividend != inGrid || known.divisor != number)
      continue;
    substitute(program, var,
               known.kind == Space::Mod
                   ? Poly::variable(team.lane)
                   : Poly::variable(analysis::BidVar) * Poly::variable(groupCount) +
                         Poly::variable(groupNumber));
  }
  TeamUndo(program, team).run();
  if (!program.reason.empty())
    return {std::move(program), std::nullopt, 0};
  checkUndone(program, team.lane);
  if (mentionsVariable(program, analysis::TidVar))
    program.refuse(
        "groups of threads work on one point each, but some of what they do depends on the thread");
  substitute(program, analysis::BdimVar, Poly::variable(width));
  substitute(program, groupNumber, tid);
  substitute(program, groupCount, bdim);
  // Groups may not reach from one row of threads into the next.
  program.requirements.push_back(space.mod(Poly::variable(width), number) * Poly::constant(-1));
  Poly count = space.floorDiv(Poly::variable(width), number);
  return {std::move(program), count, size};
}

/// The program if the threads of a row of the block are a team of \p size, which waits for the
/// other rows only at barriers.
Attempt undoRows(ThreadProgram program, int64_t size = 32, bool hasArrays = false) {
  Poly warp = Poly::constant(size), width = Poly::variable(analysis::BdimVar);
  Team team;
  team.size = warp;
  team.isBlock = hasArrays;
  substitute(program, analysis::BdimVar, warp);
  TeamUndo(program, team).run();
  if (program.reason.empty())
    checkUndone(program, team.lane);
  if (!program.reason.empty())
    return {std::move(program), std::nullopt, 0};
  program.requirements.push_back(width - warp);
  program.requirements.push_back(warp - width);
  Space::Variable variable;
  variable.name = setAside.str();
  variable.low = 1;
  variable.high = 1024;
  VarId real = program.space.add(variable);
  substitute(program, analysis::BdimVar, Poly::variable(real));
  substitute(program, analysis::TidVar + 1, Poly::variable(analysis::TidVar));
  substitute(program, analysis::BdimVar + 1, width);
  return {std::move(program), Poly::variable(analysis::BdimVar + 1), 0};
}

/// The largest constant size that threads along \p axis can have in \p launches, or what shows it
/// in \p program; sizes to try.
std::vector<int64_t> lineSizes(ThreadProgram &program, unsigned axis,
                               const analysis::LaunchRanges &launches) {
  auto range = launches.block[axis];
  if (range.low == range.high)
    return {int64_t(range.low)};
  std::vector<int64_t> sizes;
  auto add = [&](const Poly &size) {
    if (size.isConstant() && size.constantTerm() > 1 && size.constantTerm() <= 1024 &&
        !llvm::is_contained(sizes, size.constantTerm()))
      sizes.push_back(size.constantTerm());
  };
  VarId lane = analysis::TidVar + axis;
  walk(program.body, [&](Statement &each) {
    if (each.kind == Statement::For && each.progress == Statement::Add && each.begin.contains(lane))
      add(each.step);
    return true;
  });
  if (axis == 0)
    add(Poly::constant(32));
  return sizes;
}

/// Numbers the elements of shared arrays so that each line of threads along \p axis has \p size
/// neighbouring ones of its own, at `other thread index * pitch`. False where lines share elements,
/// or where that is not certain.
bool separateLines(ThreadProgram &program, unsigned axis, int64_t size) {
  Space &space = program.space;
  VarId lane = analysis::TidVar + axis, other = analysis::TidVar + 1 - axis;
  Poly number = Poly::constant(size);
  std::vector<Operand *> elements;
  bool isKnown = true;
  walk(program.body, [&](Statement &each) {
    forEachOperand(each, [&](Operand &operand) {
      if (operand.kind == Operand::Element && operand.base.memory == Base::Shared)
        elements.push_back(&operand);
      // Shuffles count threads along x.
      isKnown &= axis == 0 || operand.kind != Operand::Collective;
    });
    return true;
  });
  // Of rows, the pitch is what the number of the row is multiplied by; of columns, what the
  // thread's is.
  std::map<std::string, int64_t> pitches;
  for (Operand *element : elements) {
    Poly factor = element->offset.coefficientOf(axis == 0 ? other : lane);
    isKnown &= factor.isValid() && factor.isConstant();
    if (!isKnown)
      return false;
    int64_t &pitch = pitches[element->base.name];
    pitch = std::max(pitch, factor.constantTerm());
  }
  for (Operand *element : elements) {
    int64_t pitch = pitches[element->base.name];
    if (axis == 0) {
      Poly rest = element->offset.without(other);
      bool isOwn = element->offset.coefficientOf(other) == Poly::constant(pitch) &&
                   !space.dependsOn(rest, other);
      bool isOne = rest.isConstant() && rest.constantTerm() >= 0 && rest.constantTerm() < pitch;
      if (!isOwn || pitch < 1 || (pitch < size && !isOne))
        return false;
      continue;
    }
    // pitch * place + tid.x becomes tid.x * size + place.
    if (pitch < 1)
      return false;
    Poly place, rest;
    for (auto &[monomial, coefficient] : element->offset.monomials()) {
      Poly term = Poly::constant(coefficient % pitch ? coefficient : coefficient / pitch);
      for (VarId var : monomial)
        term = term * Poly::variable(var);
      (coefficient % pitch ? rest : place) = (coefficient % pitch ? rest : place) + term;
    }
    if (!(rest == Poly::variable(other)))
      return false;
    element->offset = Poly::variable(other) * number + place;
    Poly room = Poly::constant(pitch) - Poly::variable(analysis::BdimVar + 1 - axis);
    if (!llvm::is_contained(program.requirements, room))
      program.requirements.push_back(room);
  }
  return true;
}

/// The program if the threads that differ along \p axis alone are a team of \p size: a row or a
/// column of the block.
Attempt undoLines(ThreadProgram program, unsigned axis, int64_t size) {
  if (!separateLines(program, axis, size)) {
    program.refuse("the threads of a block work together in two dimensions");
    return {std::move(program), std::nullopt, 0};
  }
  program.requirements.push_back(Poly::constant(1) - Poly::variable(analysis::BdimVar + 2));
  if (axis == 0 && !mentionsVariable(program, analysis::BidVar + 1))
    return undoRows(std::move(program), size, true);
  Team team;
  team.lane = analysis::TidVar + axis;
  team.size = Poly::constant(size);
  VarId width = analysis::BdimVar + axis;
  substitute(program, width, team.size);
  TeamUndo(program, team).run();
  if (program.reason.empty())
    checkUndone(program, team.lane);
  program.requirements.push_back(Poly::variable(width) - team.size);
  program.requirements.push_back(team.size - Poly::variable(width));
  program.isBlockUndone = true;
  return {std::move(program), std::nullopt, 0};
}

} // namespace

void restoreBlockWidth(ThreadProgram &program, std::vector<Dimension> &dimensions,
                       const Poly &width) {
  Space &space = program.space;
  auto change = [&](const Poly &poly) {
    Poly result = space.substitute(poly, analysis::BdimVar, width);
    for (VarId var = analysis::FirstOtherVar; var < space.size(); ++var)
      if (space[var].kind == Space::Fixed && space[var].name == setAside)
        result = space.substitute(result, var, Poly::variable(analysis::BdimVar));
    return result;
  };
  rewritePolys(program.body, change);
  for (Poly &requirement : program.requirements)
    requirement = change(requirement);
  for (auto &[dimension, condition] : program.onePoint)
    condition = change(condition);
  for (Obligation &obligation : program.obligations)
    obligation.poly = change(obligation.poly);
  for (Dimension &dimension : dimensions)
    dimension.extent = change(dimension.extent);
}

static bool isParameter(const Space &space, const Poly &poly) {
  return poly.monomials().size() == 1 && poly.monomials().begin()->second == 1 &&
         poly.monomials().begin()->first.size() == 1 &&
         space[poly.monomials().begin()->first[0]].kind == Space::Param;
}

/// (bdim.x + g - 1) / g is bdim.x / g, as blocks have to hold whole groups.
static void countWholeGroups(ThreadProgram &program) {
  Space &space = program.space;
  Poly width = Poly::variable(analysis::BdimVar);
  for (VarId var = analysis::FirstOtherVar, end = space.size(); var < end; ++var) {
    const Space::Variable known = space[var];
    if (known.kind != Space::FloorDiv ||
        known.dividend != width + known.divisor - Poly::constant(1))
      continue;
    substitute(program, var, space.floorDiv(width, known.divisor));
    program.requirements.push_back(space.mod(width, known.divisor) * Poly::constant(-1));
  }
}

/// \p launches of a block in which each team is one thread.
static void shrinkBlock(analysis::LaunchRanges &launches, const Attempt &done) {
  auto &width = launches.block[0];
  if (!done.groupSize) {
    width = launches.block[1];
    launches.block[1] = {1, 1};
    return;
  }
  int64_t size = done.groupSize;
  width = {std::max<__int128>(width.low / size, 1), std::max<__int128>(width.high / size, 1)};
}

/// Makes one condition of two that stand beside each other and say the same.
static void joinConditions(std::vector<Statement> &body) {
  auto isSame = [](const Constraint &a, const Constraint &b) {
    return a.isEquality == b.isEquality && a.poly == b.poly;
  };
  std::vector<Statement> result;
  for (Statement &each : body) {
    Statement *last = result.empty() ? nullptr : &result.back();
    if (last && last->kind == Statement::If && each.kind == Statement::If &&
        last->value.text.empty() && each.value.text.empty() &&
        llvm::equal(last->constraints, each.constraints, isSame))
      last->body.insert(last->body.end(), std::make_move_iterator(each.body.begin()),
                        std::make_move_iterator(each.body.end()));
    else
      result.push_back(std::move(each));
  }
  body = std::move(result);
  for (Statement &each : body)
    joinConditions(each.body);
}

std::optional<Poly> undoCooperation(ThreadProgram &program, analysis::LaunchRanges &launches) {
  if (!program.reason.empty())
    return std::nullopt;
  Signs signs = findSigns(program);
  if (!signs.cooperates)
    return std::nullopt;
  countWholeGroups(program);
  std::vector<Attempt> tried;
  auto attempt = [&](Attempt result) {
    tried.push_back(std::move(result));
    return tried.back().program.reason.empty();
  };
  auto attemptBlock = [&](std::optional<Poly> size) {
    return attempt({undoBlock(program, size), std::nullopt, 0});
  };
  bool done = false;
  // Without a barrier of the block, a group uses no element of shared memory of another one.
  bool isApart = !signs.usesShared || !signs.usesBlockBarrier;
  for (int64_t size : signs.groups)
    if (!done && isApart && size >= 2 && size <= 32 && llvm::isPowerOf2_64(size))
      done = attempt(undoGroups(program, size));
  bool isOneRow = !mentionsVariable(program, analysis::TidVar + 1) &&
                  !mentionsVariable(program, analysis::TidVar + 2);
  if (!done && !isOneRow && !signs.usesShared)
    done = attempt(undoRows(program));
  if (!isOneRow && signs.usesShared && !mentionsVariable(program, analysis::TidVar + 2))
    for (unsigned axis : {0, 1})
      for (int64_t size : lineSizes(program, axis, launches))
        if (!done && size > 1 && !(done = attempt(undoLines(program, axis, size))))
          tried.pop_back(); // what the whole block does says more
  done = done || attemptBlock(std::nullopt);
  if (auto width = launches.block[0]; !done && width.low == width.high)
    done = attemptBlock(Poly::constant(width.low));
  for (const Poly &stride : signs.strides)
    if (!done && (stride.isConstant() || isParameter(program.space, stride)))
      done = attemptBlock(stride);
  for (const SharedArray &array : program.shared)
    if (!done && array.elements.isConstant() && array.elements.constantTerm() <= 1024)
      done = attemptBlock(array.elements);
  if (!done && !signs.usesShared)
    done = attemptBlock(Poly::constant(32));
  if (!done) {
    // That a size of teams does not fit says less than what stands in the way where it does.
    auto fits = [](const Attempt &each) {
      return !llvm::StringRef(each.program.reason).ends_with(" evenly");
    };
    auto at = llvm::find_if(tried, fits);
    program.refuse((at == tried.end() ? tried.front() : *at).program.reason);
    return std::nullopt;
  }
  program = std::move(tried.back().program);
  dropCopies(program);
  joinConditions(program.body);
  if (tried.back().width)
    shrinkBlock(launches, tried.back());
  return tried.back().width;
}

} // namespace kbopt::raise
