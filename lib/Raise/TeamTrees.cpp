//===- TeamTrees.cpp - Reductions in shared memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns loops over halving or doubling strides in which threads combine two elements of a
// shared array, and the single steps of such a loop where it is unrolled.
//
//===----------------------------------------------------------------------===//
#include "TeamUndo.h"

namespace kbopt::raise {

bool TeamUndo::isTreeGuard(const Constraint &guard, const Poly &distance, bool doubles) {
  Poly lane = Poly::variable(team.lane), one = Poly::constant(1), two = Poly::constant(2);
  if (doubles)
    return guard.isEquality ? guard.poly == space.mod(lane, distance * two)
                            : guard.poly == team.size - distance * two * lane - one ||
                                  guard.poly == team.size - lane - distance - one;
  if (guard.isEquality)
    return false;
  // The threads below the distance, and perhaps others that combine what is not read any more.
  Poly more = guard.poly - (distance - lane - one);
  return more == Poly() || (more.isConstant() && more.constantTerm() >= 0) ||
         guard.poly == team.size - lane - distance - one;
}

bool TeamUndo::treeStep(Statement &store, const Poly &distance, Body &out, TeamArray *&array) {
  if (store.kind != Statement::Store || store.target.base.memory != Base::Shared)
    return false;
  Text value = store.value;
  mergeEqualOperands(value);
  if (value.operands.size() != 2)
    return false;
  Combination by = combinationIn(value.text);
  unsigned own = value.operands[0].offset == store.target.offset ? 0 : 1;
  Operand &mine = value.operands[own], &other = value.operands[1 - own];
  auto isOf = [&](Operand &operand) {
    return operand.kind == Operand::Element && operand.base == store.target.base;
  };
  if (by.reduction.empty() || !isOf(mine) || !isOf(other) ||
      !(mine.offset == store.target.offset) || !(other.offset == mine.offset + distance))
    return false;
  Poly lane = Poly::variable(team.lane), wide = lane * distance * Poly::constant(2);
  array = nullptr;
  for (TeamArray &each : arrays) {
    bool isHere = each.base == store.target.base && !each.isOne && !each.variable && each.length;
    Poly rest = mine.offset - each.start;
    if (isHere && (rest == lane || rest == wide))
      array = &each;
  }
  if (!array)
    return false;
  if (!array->laneLocal.empty()) {
    if (laneDepth[array->laneLocal] != uniformDepth)
      return false;
    Poly start = array->start;
    std::string local = array->laneLocal;
    TeamValue all = reduceLanes(local, by, out, array->base.name);
    all.spread = TeamValue::PerThread;
    array->value = all;
    array->laneLocal.clear();
  }
  return array->value.spread == TeamValue::PerThread && array->value.reduction == by.reduction &&
         array->value.basis.empty();
}

std::string TeamUndo::combineInPlace(Statement &guarded) {
  llvm::SmallVector<Statement *> steps;
  for (Statement &inner : guarded.body)
    if (inner.kind != Statement::Barrier)
      steps.push_back(&inner);
  if (steps.size() != 2 || steps[0]->kind != Statement::Combine ||
      steps[1]->kind != Statement::Store)
    return "";
  Statement &combine = *steps[0], &store = *steps[1];
  Operand *other = onlyOperand(combine.value);
  bool isShared = other && other->kind == Operand::Element && other->base.memory == Base::Shared;
  if (!isShared || !(other->base == store.target.base) || bare(store.value.text) != combine.name)
    return "";
  auto array = llvm::find_if(arrays, [&](const TeamArray &each) {
    return each.base == store.target.base &&
           store.target.offset - each.start == Poly::variable(team.lane);
  });
  if (array == arrays.end() || array->mirrored != combine.name)
    return "";
  Statement step = store;
  llvm::StringRef by = combine.combine;
  auto [before, rest] = by.split("%a");
  auto [between, after] = rest.split("%b");
  step.value.text = (before + "$0" + between + "$1" + after).str();
  step.value.operands = {store.target, *other};
  std::string name = combine.name;
  guarded.body = {step};
  return name;
}

bool TeamUndo::tree(Statement &each, Body &out) {
  bool halves = each.progress == Statement::Halve, doubles = each.progress == Statement::Double;
  if ((!halves && !doubles) || here != TeamValue::Everyone)
    return false;
  Statement *guarded = nullptr;
  for (Statement &inner : each.body) {
    if (inner.kind == Statement::Barrier)
      continue;
    if (guarded || inner.kind != Statement::If)
      return false;
    guarded = &inner;
  }
  if (!guarded || !guarded->value.text.empty() || guarded->constraints.empty())
    return false;
  Poly distance = Poly::variable(each.variable), one = Poly::constant(1), two = Poly::constant(2);
  bool isWholeTree = doubles || each.end == one;
  Statement plain = *guarded;
  std::string mirrored = isWholeTree ? combineInPlace(plain) : "";
  guarded = &plain;
  unsigned guards = 0;
  for (Constraint &constraint : guarded->constraints)
    guards += isTreeGuard(constraint, distance, doubles);
  if (guards != guarded->constraints.size())
    return false;
  std::vector<TeamArray *> done;
  for (Statement &inner : guarded->body) {
    if (inner.kind == Statement::Barrier)
      continue;
    TeamArray *array = nullptr;
    if (!treeStep(inner, distance, out, array))
      return false;
    // All elements that count must take part, and each once.
    bool isWhole =
        halves ? each.begin == space.floorDiv(*array->length, two)
               : each.begin == one && each.end == *array->length && *array->length == team.size;
    if (!isWhole || llvm::is_contained(done, array))
      return false;
    done.push_back(array);
  }
  for (TeamArray *array : done) {
    Poly length = *array->length;
    if (length.isConstant()) {
      if (!llvm::isPowerOf2_64(length.constantTerm()))
        return false;
    } else {
      // A power of two up to 1024 divides 1024.
      program.requirements.push_back(space.mod(Poly::constant(1024), length) * Poly::constant(-1));
    }
    bool stopsEarly = halves && !(each.end == one);
    if (stopsEarly && (!each.end.isConstant() || !llvm::isPowerOf2_64(each.end.constantTerm())))
      return false;
    if (stopsEarly) {
      if (!length.isConstant())
        program.requirements.push_back(length - each.end * two);
      array->length = each.end;
      continue;
    }
    array->isOne = true;
    array->length = one;
    array->value.spread = TeamValue::Same;
  }
  if (!mirrored.empty() && !done.empty()) {
    // The first thread's scalar is the result, too.
    Statement result;
    result.kind = Statement::Assign;
    result.name = mirrored;
    result.type = types[mirrored];
    result.value = {done.front()->value.emitted, {}};
    becomeUniform(result);
    TeamValue value;
    value.emitted = mirrored;
    value.holder = TeamValue::Leader;
    declare(mirrored, value);
    if (result.value.text != mirrored)
      out.push_back(std::move(result));
  }
  return !done.empty();
}

bool TeamUndo::unrolledSteps(Statement &each, Body &out) {
  // if (tid < 64) a[tid] += a[tid + 64];
  if (each.constraints.size() != 1 || each.constraints[0].isEquality || !each.value.text.empty())
    return false;
  Poly lane = Poly::variable(team.lane), one = Poly::constant(1), two = Poly::constant(2);
  Poly threads = each.constraints[0].poly + lane + one;
  if (!threads.isConstant())
    return false;
  // Look before anything changes: every statement is a step of the next distance.
  std::vector<std::pair<TeamArray *, int64_t>> steps;
  for (Statement &inner : each.body) {
    if (inner.kind == Statement::Barrier)
      continue;
    if (inner.kind != Statement::Store || inner.value.operands.size() < 2)
      return false;
    Poly distance = inner.value.operands[1].offset - inner.target.offset;
    if (distance == Poly())
      distance = inner.value.operands[0].offset - inner.target.offset;
    TeamArray *array = nullptr;
    if (!distance.isConstant() || distance.constantTerm() > threads.constantTerm() ||
        !treeStep(inner, distance, out, array) || !(*array->length == distance * two))
      return false;
    array->length = distance;
    if (distance == one) {
      array->isOne = true;
      array->value.spread = TeamValue::Same;
    }
  }
  return !each.body.empty();
}

} // namespace kbopt::raise
