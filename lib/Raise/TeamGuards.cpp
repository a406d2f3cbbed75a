//===- TeamGuards.cpp - Conditions on the threads of a team ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what stands under a condition that some threads of a team fulfil.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "TeamUndo.h"

namespace kbopt::raise {

void TeamUndo::condition(Statement each, Body &out) {
  bool isOnLane = false;
  for (Constraint &constraint : each.constraints)
    isOnLane |= isLaneDependent(constraint.poly);
  Statement header = each;
  header.body.clear();
  isOnLane |= isLaneDependent(header);
  if (!isOnLane) {
    if (isLaneDependent(each) && !cooperates(each.body) && !isSharedSum(each.body))
      return laneCondition(std::move(each), out);
    return nested(std::move(each), out);
  }
  if (someThreads(each, out) || failed() || gatherWhere(each) || failed() ||
      unrolledSteps(each, out) || failed() || leavesEarly(each, out) || failed())
    return;
  if (cooperates(each.body))
    return refuse("threads work together under a condition that some of them do not fulfil");
  laneCondition(std::move(each), out);
}

bool TeamUndo::isSharedSum(Body &body) const {
  if (body.size() != 1 || body[0].kind != Statement::For || body[0].progress != Statement::Add ||
      !(body[0].begin == Poly::variable(team.lane)) || !(body[0].step == team.size) ||
      isLaneDependent(body[0].end))
    return false;
  bool isSum = true;
  llvm::StringSet<> own;
  walk(body[0].body, [&](Statement &each) {
    if (each.kind == Statement::Let)
      own.insert(each.name);
    auto at = values.find(each.name);
    bool isPart = each.kind == Statement::Combine && at != values.end() &&
                  at->second.spread == TeamValue::Same &&
                  at->second.holder == TeamValue::Everyone &&
                  isIdentity(at->second.literal, each.reduction) && !laneLocals.contains(each.name);
    isSum &= each.kind == Statement::Let || each.kind == Statement::If || isPart ||
             (each.kind == Statement::Assign && own.contains(each.name));
    return true;
  });
  return isSum;
}

void TeamUndo::laneCondition(Statement each, Body &out) {
  bool stores = false, combines = false;
  walk(each.body, [&](Statement &inner) {
    stores |= inner.kind == Statement::Store || inner.kind == Statement::Atomic;
    combines |= inner.kind == Statement::Combine || inner.kind == Statement::Assign;
    return true;
  });
  if (!stores)
    return addLaneLocal(std::move(each));
  emitLaneLoop(std::move(each), out);
}

bool TeamUndo::someThreads(Statement &each, Body &out) {
  Poly lane = Poly::variable(team.lane), one = Poly::constant(1), last = Poly::constant(31);
  TeamValue::Holder who = TeamValue::Everyone;
  std::vector<Constraint> others;
  for (Constraint &constraint : each.constraints) {
    const Poly &poly = constraint.poly;
    Poly negated = poly * Poly::constant(-1);
    auto says = [&](const Poly &is) {
      return constraint.isEquality ? poly == is || negated == is : poly == is * Poly::constant(-1);
    };
    TeamValue::Holder found = TeamValue::Everyone;
    if (says(lane))
      found = TeamValue::Leader;
    else if (team.isBlock && says(warpLane))
      found = TeamValue::WarpLeaders;
    else if (team.isBlock && (says(warpNumber) || (!constraint.isEquality && poly == last - lane)))
      found = TeamValue::FirstWarp;
    if (found == TeamValue::Everyone) {
      others.push_back(constraint);
      continue;
    }
    bool areBoth = (who == TeamValue::WarpLeaders && found == TeamValue::FirstWarp) ||
                   (who == TeamValue::FirstWarp && found == TeamValue::WarpLeaders);
    who = who == TeamValue::Everyone || who == found ? found
          : areBoth                                  ? TeamValue::Leader
                                                     : TeamValue::Leader;
  }
  if (who == TeamValue::Everyone)
    return false;
  // Inside a part of the threads: the first thread is in both.
  if (here == TeamValue::FirstWarp && who == TeamValue::WarpLeaders)
    who = TeamValue::Leader;
  if (who == TeamValue::WarpLeaders && (warps == one || team.size == Poly::constant(32)))
    who = TeamValue::Leader;
  if (who == TeamValue::FirstWarp && team.size == Poly::constant(32))
    who = TeamValue::Everyone;
  each.constraints = others;
  Body body = std::move(each.body);
  if (who == TeamValue::Leader) {
    rewritePolys(body, [&](const Poly &poly) { return zeroLane(poly); });
    for (Constraint &constraint : each.constraints)
      constraint.poly = zeroLane(constraint.poly);
    for (Operand &operand : each.value.operands)
      operand.offset = zeroLane(operand.offset);
  }
  for (Constraint &constraint : each.constraints)
    if (isLaneDependent(constraint.poly)) {
      refuse("threads work together under a condition that some of them do not fulfil");
      return true;
    }
  TeamValue::Holder outer = std::exchange(here, who == TeamValue::Everyone ? here : who);
  if (each.constraints.empty() && each.value.text.empty()) {
    for (Statement &inner : body)
      if (!failed())
        statement(std::move(inner), out);
  } else {
    each.body = std::move(body);
    nested(std::move(each), out);
  }
  here = outer;
  return true;
}

bool TeamUndo::gatherWhere(Statement &each) {
  // if (lane < warps) value = array[lane];
  if (each.body.size() != 1 || each.body[0].kind != Statement::Assign ||
      each.constraints.size() != 1 || !each.value.text.empty())
    return false;
  Statement &inner = each.body[0];
  Operand *operand = onlyOperand(inner.value);
  auto at = values.find(inner.name);
  if (!operand || operand->kind != Operand::Element || operand->base.memory != Base::Shared ||
      at == values.end() || at->second.spread != TeamValue::Same || each.constraints[0].isEquality)
    return false;
  std::optional<TeamValue> value = gather(*operand, each.constraints[0].poly, at->second.literal);
  if (!value)
    return false;
  Statement copy = inner;
  copy.value = {value->emitted, {}};
  emitted->push_back(copy);
  value->emitted = inner.name;
  at->second = *value;
  return true;
}

bool TeamUndo::leavesEarly(Statement &each, Body &out) {
  // if (tid >= n) return; around loops that start at tid and end at n.
  Poly lane = Poly::variable(team.lane);
  if (each.constraints.size() != 1 || each.constraints[0].isEquality || !each.value.text.empty())
    return false;
  Poly bound = each.constraints[0].poly + lane + Poly::constant(1);
  if (isLaneDependent(bound) || !cooperates(each.body))
    return false;
  bool fits = true;
  walk(each.body, [&](Statement &inner) {
    if (inner.kind != Statement::For || !isLaneDependent(inner.begin))
      return true;
    fits &= inner.begin == lane && inner.end == bound;
    return false;
  });
  size_t before = segment.size();
  if (!fits)
    return false;
  each.constraints[0].poly = bound - Poly::constant(1);
  std::vector<Statement> single;
  nested(std::move(each), single);
  bool usesThreads = segment.size() != before;
  walk(single, [&](Statement &inner) {
    usesThreads |= inner.kind == Statement::For && inner.team && inner.end == team.size;
    return true;
  });
  if (usesThreads)
    refuse("threads work together after some of them have left");
  out.insert(out.end(), single.begin(), single.end());
  return true;
}

} // namespace kbopt::raise
