//===- TeamLanes.cpp - What each thread of a team computes alone -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns scalars that differ between the threads: they are computed again in every loop over the
// team that needs them.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "TeamUndo.h"

namespace kbopt::raise {

void TeamUndo::addLaneLocal(Statement each) {
  llvm::StringSet<> locals, targets;
  for (const auto &name : laneLocals)
    locals.insert(name.getKey());
  bool isOnlyScalars = true;
  Body single;
  single.push_back(std::move(each));
  walk(single, [&](Statement &inner) {
    isOnlyScalars &= inner.kind != Statement::Store && inner.kind != Statement::Atomic &&
                     inner.kind != Statement::Barrier && inner.kind != Statement::Opaque;
    if (inner.kind == Statement::Let)
      locals.insert(inner.name);
    else if (inner.kind == Statement::Assign || inner.kind == Statement::Combine)
      targets.insert(inner.name);
    return true;
  });
  if (!isOnlyScalars)
    return refuse("threads store under a condition of their own while they work together");
  if (segment.empty())
    storesAtSegment = stores;
  // A scalar that was the same for all threads until now.
  for (const auto &target : targets) {
    std::string name = target.getKey().str();
    auto at = values.find(name);
    if (locals.contains(name) || at == values.end())
      continue;
    if (at->second.spread != TeamValue::Same || at->second.holder != TeamValue::Everyone)
      return refuse("'" + name + "' is changed while the threads hold parts of it");
    Statement start;
    start.kind = Statement::Let;
    start.name = name;
    start.type = types[name];
    if (types.lookup(name).empty())
      return refuse("'" + name + "' is changed by each thread");
    start.value.text = at->second.literal.empty() ? at->second.emitted : at->second.literal;
    segment.push_back(std::move(start));
    locals.insert(name);
    values.erase(at);
  }
  if (single[0].kind == Statement::Let)
    values.erase(single[0].name);
  iterationBody(single, locals, nullptr);
  for (const auto &target : targets)
    laneLocals.insert(target.getKey()), laneDepth[target.getKey()] = uniformDepth;
  if (single[0].kind == Statement::Let)
    laneLocals.insert(single[0].name), laneDepth[single[0].name] = uniformDepth;
  if (!failed())
    segment.push_back(std::move(single[0]));
}

/// Whether \p each or its body declares, changes or uses one of \p wanted.
static bool defines(Statement &each, const llvm::StringSet<> &wanted) {
  bool found = wanted.contains(each.name);
  for (Statement &inner : each.body)
    found |= defines(inner, wanted);
  return found;
}

static void addMentioned(Statement &each, const llvm::StringSet<> &candidates,
                         llvm::StringSet<> &wanted) {
  forEachText(each, [&](Text &text) {
    for (const auto &name : candidates)
      if (mentions(text.text, name.getKey()))
        wanted.insert(name.getKey());
  });
  for (Statement &inner : each.body)
    addMentioned(inner, candidates, wanted);
}

bool TeamUndo::mayLoadAgain(Body &loads, Body &stored) {
  std::vector<Operand> targets;
  walk(stored, [&](Statement &each) {
    if (each.kind == Statement::Store || each.kind == Statement::Atomic)
      targets.push_back(each.target);
    return true;
  });
  bool may = true, loadsAny = false;
  walk(loads, [&](Statement &each) {
    forEachOperand(each, [&](Operand &operand) {
      if (operand.kind != Operand::Element)
        return;
      loadsAny = true;
      for (Operand &target : targets)
        may &= !(target.base == operand.base) || target.offset == operand.offset;
    });
    return true;
  });
  return may && (!loadsAny || stores == storesAtSegment);
}

void TeamUndo::emitLaneLoop(Statement last, Body &out) {
  llvm::StringSet<> wanted, locals;
  addMentioned(last, laneLocals, wanted);
  for (const auto &name : laneLocals)
    locals.insert(name.getKey());
  Body lastBody;
  lastBody.push_back(std::move(last));
  iterationBody(lastBody, locals, nullptr);
  if (failed())
    return;
  Body inside;
  for (Statement &each : llvm::reverse(segment))
    if (defines(each, wanted)) {
      if (stale.count(&each - segment.data()))
        return refuse("'" + each.name +
                      "' of each thread is formed from what changes before the threads combine it");
      addMentioned(each, laneLocals, wanted);
      inside.insert(inside.begin(), each);
    }
  if (!mayLoadAgain(inside, lastBody))
    return refuse("threads keep values that they loaded before the team stores");
  walk(lastBody, [&](Statement &each) {
    stores += each.kind == Statement::Store || each.kind == Statement::Atomic;
    return true;
  });
  inside.push_back(std::move(lastBody[0]));
  // Each emission has names of its own.
  llvm::StringSet<> inner;
  walk(inside, [&](Statement &each) {
    if (each.kind == Statement::Let)
      inner.insert(each.name);
    return true;
  });
  Space::Variable lane;
  lane.kind = Space::Loop;
  lane.name = uniqueName("t");
  lane.low = 0;
  VarId variable = space.add(lane);
  for (const auto &name : inner)
    if (declared.insert(name.getKey()).second) {
      inLoops.insert(name.getKey());
    } else {
      // The first declaration may take its start from a uniform scalar of the same name.
      std::string fresh = uniqueName(name.getKey());
      for (Statement &each : inside) {
        bool startsFromOuter = each.kind == Statement::Let && each.name == name.getKey() &&
                               mentions(each.value.text, name.getKey());
        Text start = each.value;
        std::vector<Statement> one;
        one.push_back(std::move(each));
        renameIn(one, name.getKey(), fresh);
        each = std::move(one[0]);
        if (startsFromOuter)
          each.value = start;
      }
    }
  rewritePolys(inside, [&](const Poly &poly) {
    return space.substitute(poly, team.lane, Poly::variable(variable));
  });
  Statement loop;
  loop.kind = Statement::For;
  loop.variable = variable;
  loop.begin = Poly::constant(0);
  loop.end = team.size;
  loop.step = Poly::constant(1);
  loop.team = true;
  loop.body = std::move(inside);
  out.push_back(std::move(loop));
}

/// The neutral value of \p reduction in \p type as C++ text; empty where it is not known.
static std::string neutral(llvm::StringRef reduction, llvm::StringRef type) {
  if (reduction == "add" || reduction == "mul") {
    std::string digit = reduction == "add" ? "0" : "1";
    return type == "float" ? digit + ".0f" : type == "double" ? digit + ".0" : digit;
  }
  if (type == "float" || type == "double")
    return reduction == "max" ? "-INFINITY" : reduction == "min" ? "INFINITY" : "";
  if (type == "int")
    return reduction == "max"   ? "-2147483647 - 1"
           : reduction == "min" ? "2147483647"
           : reduction == "and" ? "~0"
                                : "0";
  return "";
}

TeamValue TeamUndo::reduceLanes(const std::string &name, const Combination &by, Body &out,
                                llvm::StringRef wish) {
  llvm::StringRef kind = by.reduction;
  Statement start;
  start.kind = Statement::Let;
  start.name = uniqueName((wish.empty() ? name : wish.str()) + (kind == "add"   ? "Sum"
                                                                : kind == "max" ? "Max"
                                                                : kind == "min" ? "Min"
                                                                                : "All"));
  start.type = types[name];
  start.value.text = neutral(kind, start.type);
  TeamValue result;
  if (start.value.text.empty()) {
    refuse("the " + by.reduction + " of '" + name +
           "' over the threads has no neutral value that is known");
    return result;
  }
  types[start.name] = start.type;
  result.reduction = by.reduction;
  result.combine = by.combine;
  result.identity = result.literal = start.value.text;
  result.emitted = start.name;
  Statement step;
  step.kind = Statement::Combine;
  step.name = start.name;
  step.value.text = name;
  step.reduction = by.reduction;
  step.combine = by.combine;
  step.identity = start.value.text;
  declared.insert(start.name);
  out.push_back(std::move(start));
  declare(result.emitted, result);
  emitLaneLoop(std::move(step), out);
  values.erase(result.emitted);
  result.literal.clear();
  return result;
}

} // namespace kbopt::raise
