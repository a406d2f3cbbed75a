//===- TeamLoops.cpp - Loops that a team shares out --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from `for (i = tid; i < n; i += size)` to `for (i = 0; i < n; ++i)`, also where each
// thread takes several elements in a round, and what the iterations may do.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "Points.h"
#include "TeamUndo.h"

namespace kbopt::raise {

void TeamUndo::loop(Statement each, Body &out) {
  bool isShared =
      isLaneDependent(each.begin) || isLaneDependent(each.end) || isLaneDependent(each.step);
  if (isShared)
    return teamLoop(std::move(each), out);
  if (shuffleLoop(each, out) || failed() || tree(each, out) || failed() || serialSum(each, out) ||
      failed())
    return;
  if (isLaneDependent(each) && !cooperates(each.body)) {
    bool stores = false;
    walk(each.body, [&](Statement &inner) {
      stores |= inner.kind == Statement::Store || inner.kind == Statement::Atomic;
      return true;
    });
    if (!stores)
      return addLaneLocal(std::move(each));
    return emitLaneLoop(std::move(each), out);
  }
  nested(std::move(each), out);
}

/// begin = first + factor * lane with the factor a positive constant: first and the factor.
static std::optional<std::pair<Poly, int64_t>> splitBegin(const Poly &begin, VarId lane) {
  Poly factor = begin.coefficientOf(lane);
  if (!factor.isValid() || !factor.isConstant() || factor.constantTerm() < 1)
    return std::nullopt;
  return std::pair(begin.without(lane), factor.constantTerm());
}

bool TeamUndo::mergeRounds(Statement &each) {
  auto parts = splitBegin(each.begin, team.lane);
  if (!parts || each.progress != Statement::Add || isLaneDependent(parts->first) ||
      isLaneDependent(each.end) || isLaneDependent(each.step))
    return false;
  auto [first, factor] = *parts;
  if (each.step == team.size * Poly::constant(factor)) {
    each.begin = first;
    each.step = Poly::constant(factor);
    return factor == 1 || mergeElements(each);
  }
  if (factor == 1 && !(first == Poly()))
    if (std::optional<Poly> teams = exactQuotient(each.step, team.size);
        teams && space.isUniform(*teams)) {
      splitRounds(each, first);
      return true;
    }
  // Each round takes several elements that are a team apart, in one inner loop.
  if (factor != 1 || each.body.size() != 1 || each.body[0].kind != Statement::For)
    return false;
  Statement inner = each.body[0];
  if (inner.progress != Statement::Add || !(inner.begin == Poly::constant(0)) ||
      !(inner.step == Poly::constant(1)) || !(each.step == team.size * inner.end))
    return false;
  // i becomes j - u * size.
  Poly before = Poly::variable(each.variable) - Poly::variable(inner.variable) * team.size;
  rewritePolys(inner.body,
               [&](const Poly &poly) { return space.substitute(poly, each.variable, before); });
  bool isBounded = false, usesRound = false;
  Poly bound = each.end - Poly::variable(each.variable) - Poly::constant(1);
  if (inner.body.size() == 1 && inner.body[0].kind == Statement::If)
    for (Constraint &constraint : inner.body[0].constraints)
      isBounded |= !constraint.isEquality && constraint.poly == bound;
  rewritePolys(inner.body, [&](const Poly &poly) {
    usesRound |= space.dependsOn(poly, inner.variable);
    return poly;
  });
  if (!isBounded || usesRound)
    return false;
  each.begin = first;
  each.step = Poly::constant(1);
  each.body = std::move(inner.body);
  return true;
}

void TeamUndo::splitRounds(Statement &each, const Poly &first) {
  // Several teams share out the loop: for (r = first; r < end; r += step) for (k < size) if (r + k
  // < end).
  auto addCounter = [&](const std::string &name) {
    Space::Variable counter;
    counter.kind = Space::Loop;
    counter.name = name;
    counter.low = 0;
    return space.add(counter);
  };
  VarId round = addCounter(uniqueName(space[each.variable].name + "_round")),
        element = addCounter(space[each.variable].name);
  Poly value = Poly::variable(round) + Poly::variable(element);
  Statement inner, guard;
  inner.kind = Statement::For;
  inner.variable = element;
  inner.end = team.size;
  inner.step = Poly::constant(1);
  inner.team = true;
  guard.kind = Statement::If;
  guard.constraints.push_back({each.end - value - Poly::constant(1)});
  guard.body = std::move(each.body);
  rewritePolys(guard.body,
               [&](const Poly &poly) { return space.substitute(poly, each.variable, value); });
  program.given[round] = {first, each.end};
  program.given[element] = {Poly(), team.size};
  each.variable = round;
  each.begin = first;
  each.body.clear();
  inner.body.push_back(std::move(guard));
  each.body.push_back(std::move(inner));
}

bool TeamUndo::mergeElements(Statement &each) {
  // for (i; i < end; i += c) for (k < c) with i + k everywhere is one loop over i + k.
  if (each.body.size() != 1 || each.body[0].kind != Statement::For)
    return true;
  Statement inner = each.body[0];
  if (inner.progress != Statement::Add || !(inner.begin == Poly::constant(0)) ||
      !(inner.step == Poly::constant(1)) || !(inner.end == each.step))
    return true;
  Poly before = Poly::variable(each.variable) - Poly::variable(inner.variable);
  bool usesInner = false;
  rewritePolys(inner.body, [&](const Poly &poly) {
    Poly changed = space.substitute(poly, each.variable, before);
    usesInner |= space.dependsOn(changed, inner.variable);
    return changed;
  });
  if (usesInner)
    return true;
  Poly bound = each.end - Poly::variable(each.variable) - Poly::constant(1);
  bool isBounded = inner.body.size() == 1 && inner.body[0].kind == Statement::If &&
                   llvm::any_of(inner.body[0].constraints, [&](Constraint &constraint) {
                     return !constraint.isEquality && constraint.poly == bound;
                   });
  Poly rest = space.mod(each.end - each.begin, each.step);
  if (!isBounded && !space.isUniform(rest))
    return true;
  if (!isBounded && !(rest == Poly::constant(0)))
    program.requirements.push_back(rest * Poly::constant(-1));
  each.step = Poly::constant(1);
  each.body = std::move(inner.body);
  return true;
}

void TeamUndo::enterLoop(const Statement &each) {
  if (each.progress == Statement::Add && each.step == Poly::constant(1))
    loopRanges[each.variable] = {each.begin, each.end};
}

void TeamUndo::teamLoop(Statement each, Body &out) {
  std::string name = space[each.variable].name;
  if (here != TeamValue::Everyone)
    return refuse("some threads of a team run the loop over '" + name + "' only");
  Poly begin = each.begin;
  if (!mergeRounds(each))
    return refuse("the threads of a team do not share out the loop over '" + name + "' evenly");
  each.team = true;
  // The first iteration of each thread are those of the first round.
  if (each.step == Poly::constant(1) && begin == each.begin + Poly::variable(team.lane))
    walk(each.body, [&](Statement &inner) {
      for (Constraint &constraint : inner.constraints)
        if (constraint.isEquality && constraint.poly == Poly::variable(each.variable) - begin)
          constraint = {each.begin + team.size - Poly::constant(1) - Poly::variable(each.variable)};
      return true;
    });
  bool usesLane = false;
  for (Statement &inner : each.body)
    usesLane |= isLaneDependent(inner);
  if (usesLane)
    return refuse("the iterations of the loop over '" + name +
                  "' depend on the thread that runs them");
  enterLoop(each);
  llvm::StringSet<> locals;
  Statement header = each;
  header.body.clear();
  iterationBody(each.body, locals, &header);
  for (auto &[sum, value] : values)
    if (!value.basis.empty() && !value.terms)
      value.terms = each.end - each.begin;
  walk(each.body, [&](Statement &inner) {
    stores += inner.kind == Statement::Store || inner.kind == Statement::Atomic;
    return true;
  });
  if (!failed() && !each.body.empty())
    out.push_back(std::move(each));
}

bool TeamUndo::becomePartial(const Statement &combine) {
  auto at = values.find(combine.name);
  if (at == values.end())
    return false;
  TeamValue &value = at->second;
  if (value.offsets || value.holder != TeamValue::Everyone)
    return false;
  if (value.spread == TeamValue::PerThread) {
    auto maximum = values.find(combine.basis);
    bool isAlike = value.basis.empty()
                       ? combine.basis.empty()
                       : maximum != values.end() && maximum->second.origin == value.basis &&
                             combine.scale == value.scale;
    return value.reduction == combine.reduction && isAlike && !isBasis(value);
  }
  bool startsNeutral = !value.literal.empty() && isIdentity(value.literal, combine.reduction);
  if (value.spread != TeamValue::Same || (!startsNeutral && !isIdempotent(combine.reduction)))
    return false;
  value.spread = TeamValue::PerThread;
  value.reduction = combine.reduction;
  value.combine = combine.combine;
  value.identity = combine.identity;
  value.origin = value.emitted;
  return true;
}

bool TeamUndo::isBasis(const TeamValue &maximum) const {
  return !maximum.origin.empty() && llvm::any_of(values, [&](const auto &each) {
    return each.second.basis == maximum.origin;
  });
}

bool TeamUndo::isRelative(Statement &each, TeamValue &maximum) {
  auto at = values.find(each.basis);
  if (each.kind != Statement::Combine || each.basis.empty() || each.isPair || at == values.end() ||
      at->second.spread != TeamValue::PerThread || at->second.reduction != "max" ||
      at->second.offsets || at->second.holder != TeamValue::Everyone)
    return false;
  maximum = at->second;
  return true;
}

void TeamUndo::iterationText(Text &text, const llvm::StringSet<> &locals) {
  std::vector<std::pair<std::string, TeamValue>> hidden;
  for (const auto &local : locals)
    if (auto at = values.find(local.getKey().str()); at != values.end()) {
      hidden.emplace_back(*at);
      values.erase(at);
    }
  resolve(text);
  values.insert(hidden.begin(), hidden.end());
}

void TeamUndo::iterationBody(Body &body, llvm::StringSet<> &locals, Statement *outer) {
  for (size_t i = 0; i < body.size() && !failed(); ++i) {
    Statement &each = body[i];
    TeamValue maximum;
    bool isSum = !locals.contains(each.name) && isRelative(each, maximum);
    if (isSum) {
      renameIn(each.value, each.basis, maximum.emitted);
      if (maximum.emitted == each.basis)
        values.erase(each.basis);
    }
    if (!each.value.text.empty())
      iterationText(each.value, locals);
    if (isSum)
      values[each.basis] = maximum;
    if (failed())
      return;
    switch (each.kind) {
    case Statement::Let:
      locals.insert(each.name);
      break;
    case Statement::Assign:
      if (!locals.contains(each.name))
        return refuse("'" + each.name + "' keeps the value of one iteration of a thread");
      break;
    case Statement::Combine:
      if (locals.contains(each.name))
        break;
      if (!becomePartial(each))
        return refuse(
            "'" + each.name +
            "' does not start with a value that changes nothing when every thread combines it");
      if (isSum) {
        values[each.name].basis = maximum.origin;
        values[each.name].scale = each.scale;
      }
      each.name = values[each.name].emitted;
      break;
    case Statement::Store:
      if (each.target.base.memory != Base::Shared)
        break;
      if (!outer || !(outer->step == Poly::constant(1)))
        return refuse("threads store to '" + each.target.base.name +
                      "' in a way that is not understood");
      writeCopy(each, *outer, locals);
      body.erase(body.begin() + i--);
      continue;
    case Statement::Atomic:
      if (each.target.base.memory == Base::Shared)
        return refuse("an atomic on the shared array '" + each.target.base.name + "'");
      break;
    case Statement::Barrier:
      return refuse("a barrier stands in a loop that threads leave at different times");
    case Statement::Opaque:
      return refuse(each.reason);
    case Statement::For:
      enterLoop(each);
      [[fallthrough]];
    case Statement::If:
      iterationBody(each.body, locals, nullptr);
      break;
    }
  }
}

} // namespace kbopt::raise
