//===- TeamUndo.cpp - One team's cooperation, undone -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the walk over the statements that all threads of a team execute together.
//
//===----------------------------------------------------------------------===//
#include "TeamUndo.h"

#include "NestScalars.h"
#include "Online.h"
#include "llvm/ADT/ScopeExit.h"

namespace kbopt::raise {

TeamUndo::TeamUndo(ThreadProgram &program, Team team)
    : program(program), space(program.space), team(team) {
  Poly lane = Poly::variable(team.lane), warp = Poly::constant(32);
  if (team.isBlock) {
    warpLane = space.mod(lane, warp);
    warpNumber = space.floorDiv(lane, warp);
    warps = space.floorDiv(team.size, warp);
    space[warpNumber.monomials().begin()->first[0]].low = 0;
    space[warpNumber.monomials().begin()->first[0]].high = 31;
  }
  for (VarId var = 0; var < space.size(); ++var)
    names.insert(space[var].name);
  walk(program.body, [&](Statement &each) {
    names.insert(each.name);
    if (each.kind == Statement::Let)
      types[each.name] = each.type;
    if (each.kind == Statement::Store || each.kind == Statement::Atomic)
      storedBases.push_back(each.target.base);
    return true;
  });
}

void TeamUndo::run() {
  Body result = rewrite(program.body);
  if (!failed())
    program.body = std::move(result);
}

TeamUndo::Body TeamUndo::rewrite(const Body &body) {
  Body out;
  Body *outer = std::exchange(emitted, &out);
  for (const Statement &each : body)
    if (!failed())
      statement(each, out);
  emitted = outer;
  return out;
}

void TeamUndo::becomeStale(const llvm::StringSet<> &changed, size_t statements) {
  for (TeamArray &array : arrays)
    if (changed.contains(array.mirrored))
      array.mirrored.clear();
  auto isRead = [&](Statement &each) {
    bool found = false;
    std::vector<Statement> single{each};
    walk(single, [&](Statement &inner) {
      for (const auto &name : changed)
        forEachText(inner, [&](Text &text) {
          found |= !laneLocals.contains(name.getKey()) && mentions(text.text, name.getKey());
        });
      return !found;
    });
    return found;
  };
  std::erase_if(stale, [&](size_t at) { return at >= segment.size(); });
  for (size_t i = 0; i < std::min(statements, segment.size()); ++i)
    if (!changed.empty() && isRead(segment[i]))
      stale.insert(i);
}

void TeamUndo::statement(Statement each, Body &out) {
  llvm::StringSet<> changed;
  walk(each.body, [&](Statement &inner) {
    if (inner.kind == Statement::Assign || inner.kind == Statement::Combine)
      changed.insert(inner.name);
    return true;
  });
  if (each.kind == Statement::Assign || each.kind == Statement::Combine)
    changed.insert(each.name);
  size_t segmentSize = segment.size();
  llvm::scope_exit after([&] { becomeStale(changed, segmentSize); });
  switch (each.kind) {
  case Statement::Let:
  case Statement::Assign:
    return scalar(std::move(each), out);
  case Statement::Combine:
    return combine(std::move(each), out);
  case Statement::Store:
  case Statement::Atomic:
    return store(std::move(each), out);
  case Statement::For:
    return loop(std::move(each), out);
  case Statement::If:
    return condition(std::move(each), out);
  case Statement::Barrier:
    return;
  case Statement::Opaque:
    return refuse(each.reason);
  }
}

bool TeamUndo::isHeldHere(const TeamValue &value) const {
  switch (value.holder) {
  case TeamValue::Everyone:
    return true;
  case TeamValue::WarpLeaders:
    return here == TeamValue::WarpLeaders || here == TeamValue::Leader;
  case TeamValue::FirstWarp:
    return here == TeamValue::FirstWarp || here == TeamValue::Leader;
  case TeamValue::Leader:
    return here == TeamValue::Leader;
  }
  return false;
}

/// Whether \p text names a scalar of \p names.
static bool mentionsAny(Text &text, const llvm::StringSet<> &names) {
  for (const auto &name : names)
    if (mentions(text.text, name.getKey()))
      return true;
  for (Operand &operand : text.operands)
    for (Text &argument : operand.arguments)
      if (mentionsAny(argument, names))
        return true;
  return false;
}

bool TeamUndo::isLaneDependent(Statement &each, bool withBody) const {
  bool depends =
      mentionsAny(each.value, laneLocals) || (!each.name.empty() && laneLocals.contains(each.name));
  forEachOperand(each, [&](Operand &operand) {
    depends |= operand.kind != Operand::Collective && isLaneDependent(operand.offset);
  });
  for (Constraint &constraint : each.constraints)
    depends |= isLaneDependent(constraint.poly);
  if (each.kind == Statement::For)
    depends |=
        isLaneDependent(each.begin) || isLaneDependent(each.end) || isLaneDependent(each.step);
  if (withBody)
    for (Statement &inner : each.body)
      depends |= isLaneDependent(inner);
  return depends;
}

bool TeamUndo::cooperates(Body &body) const {
  bool does = false;
  walk(body, [&](Statement &each) {
    does |= each.kind == Statement::Barrier;
    forEachOperand(each, [&](Operand &operand) {
      does |= operand.kind == Operand::Collective || operand.base.memory == Base::Shared;
    });
    return true;
  });
  return does;
}

std::string TeamUndo::uniqueName(llvm::StringRef wish) {
  std::string name = wish.str();
  for (unsigned i = 2; !names.insert(name).second || !program.names.insert(name).second; ++i)
    name = wish.str() + "_" + std::to_string(i);
  return name;
}

void TeamUndo::resolve(Text &text) {
  for (unsigned i = 0; i < text.operands.size() && !failed();) {
    Operand &operand = text.operands[i];
    bool isShared = operand.kind == Operand::Element && operand.base.memory == Base::Shared;
    if (operand.kind != Operand::Collective && !isShared) {
      ++i;
      continue;
    }
    if (isShared && forwardCopy(text, i))
      continue;
    std::optional<TeamValue> value = isShared ? readShared(operand) : collective(operand);
    if (failed())
      return;
    if (!value || value->spread != TeamValue::Same || !isHeldHere(*value))
      return refuse(isShared
                        ? "the threads of a block read '" + operand.base.name +
                              "' in a way that is not understood"
                        : "what '" + operand.function + "' gives the threads is not understood");
    fillHole(text, i, {value->emitted, {}});
  }
  for (auto &[name, value] : values) {
    if (!mentions(text.text, name))
      continue;
    if (value.spread != TeamValue::Same)
      return refuse("'" + name + "' is used before the threads' parts of it are combined");
    if (!isHeldHere(value))
      return refuse("'" + name + "' is used by threads that do not have its combined value");
    renameIn(text, name, value.emitted);
  }
}

void TeamUndo::scalar(Statement each, Body &out) {
  if (isShuffledCombine(each))
    return combine(std::move(each), out);
  for (auto &[name, value] : values)
    if (!value.basis.empty() && mentions(each.value.text, name) &&
        isRescaled(each.value.text, name)) {
      TeamValue sum = value;
      sum.basis.clear();
      return declare(each.name, sum);
    }
  if (each.symbol && isLaneDependent(each))
    return refuse("the integer '" + each.name + "' of each thread is used in indices");
  if (std::optional<TeamValue> value = valueOf(each.value)) {
    if (failed())
      return;
    becomeUniform(each);
    bool isCopy = value->spread != TeamValue::Shuffled && value->emitted != each.name;
    each.value = {value->emitted, {}};
    value->literal.clear();
    if (isCopy) {
      value->emitted = each.name;
      out.push_back(each);
    }
    return declare(each.name, *value);
  }
  if (failed())
    return;
  if (isLaneDependent(each) && !(each.kind == Statement::Assign && each.value.isPlain() &&
                                 !mentionsAny(each.value, laneLocals)))
    return addLaneLocal(std::move(each));
  resolve(each.value);
  becomeUniform(each);
  TeamValue value;
  value.holder = here;
  value.emitted = each.name;
  if (each.value.isPlain())
    value.literal = each.value.text;
  declare(each.name, value);
  out.push_back(std::move(each));
}

bool TeamUndo::isRescaled(llvm::StringRef text, const std::string &sum) {
  const TeamValue &value = values.at(sum);
  auto names = rescaling(text, sum, value.scale);
  auto isOrigin = [&](const std::string &name, TeamValue::Spread spread) {
    auto at = values.find(name);
    return at != values.end() && at->second.origin == value.basis && at->second.spread == spread &&
           !at->second.offsets && isHeldHere(at->second);
  };
  return names && value.spread == TeamValue::PerThread && !value.offsets &&
         here == TeamValue::Everyone && isOrigin(names->first, TeamValue::PerThread) &&
         isOrigin(names->second, TeamValue::Same);
}

void TeamUndo::becomeUniform(Statement &each) {
  if (!laneLocals.contains(each.name)) {
    if (each.kind == Statement::Let)
      declared.insert(each.name);
    return;
  }
  // What the threads had under this name gets another one; the name is declared anew.
  if (laneDepth[each.name] != uniformDepth)
    return refuse("'" + each.name + "' is one value and a value of each thread in turn");
  std::string local = uniqueName(each.name);
  renameIn(segment, each.name, local);
  for (TeamArray &array : arrays)
    if (array.laneLocal == each.name)
      array.laneLocal = local;
  laneLocals.erase(each.name);
  laneLocals.insert(local);
  laneDepth[local] = uniformDepth;
  types[local] = types[each.name];
  declareAnew(each);
}

void TeamUndo::declareAnew(Statement &each) {
  const std::string name = each.name;
  bool isNew = declared.insert(name).second;
  if (inLoops.erase(name)) {
    // Names are unique: in the loops it gets another one.
    renameIn(*emitted, name, uniqueName(name));
    isNew = true;
  }
  if (!isNew)
    return;
  each.kind = Statement::Let;
  each.type = types[name];
}

void TeamUndo::combine(Statement each, Body &out) {
  if (auto sum = values.find(each.name);
      sum != values.end() && !sum->second.basis.empty() && !each.isPair) {
    if (each.reduction != "mul" || !each.value.isPlain() ||
        !isRescaled(each.name + " * (" + each.value.text + ")", each.name))
      return refuse("'" + each.name +
                    "' is combined while the threads' parts are relative to maxima of their own");
    sum->second.basis.clear();
    return;
  }
  std::optional<TeamValue> term = valueOf(each.value);
  if (failed())
    return;
  if (term && term->spread == TeamValue::Shuffled) {
    if (!applyShuffle(each.name, *term, each))
      refuse("the threads exchange '" + each.name + "' in a way that is not understood");
    return;
  }
  if (laneLocals.contains(each.name))
    return addLaneLocal(std::move(each));
  if (!term && isLaneDependent(each)) {
    Statement single = std::move(each);
    if (!becomePartial(single))
      return refuse(
          "'" + single.name +
          "' does not start with a value that changes nothing when every thread combines it");
    return emitLaneLoop(std::move(single), out);
  }
  if (term && term->spread == TeamValue::PerThread) {
    if (!becomePartial(each) || term->reduction != each.reduction)
      return refuse("'" + each.name +
                    "' combines parts of the threads in another way than they were formed");
    each.value = {term->emitted, {}};
    out.push_back(std::move(each));
    return;
  }
  resolve(each.value);
  auto at = values.find(each.name);
  if (at == values.end() || at->second.spread != TeamValue::Same || !isHeldHere(at->second))
    return refuse("'" + each.name + "' is changed while the threads hold parts of it");
  at->second.literal.clear();
  if (here != TeamValue::Everyone)
    at->second.holder = here;
  out.push_back(std::move(each));
}

void TeamUndo::store(Statement each, Body &out) {
  if (each.target.base.memory == Base::Shared)
    return each.kind == Statement::Store
               ? writeShared(each, out)
               : refuse("an atomic on the shared array '" + each.target.base.name + "'");
  bool isOnce = here == TeamValue::Leader;
  if (isLaneDependent(each))
    return here != TeamValue::Everyone ? refuse("some threads of a team store values of their own")
                                       : emitLaneLoop(std::move(each), out);
  ++stores;
  resolve(each.value);
  bool readsItself = each.kind == Statement::Atomic;
  for (Operand &operand : each.value.operands)
    readsItself |= operand.kind == Operand::Element && operand.base == each.target.base;
  if (readsItself && !isOnce)
    return refuse("every thread of a team changes the same element of '" + each.target.base.name +
                  "'");
  out.push_back(std::move(each));
}

void TeamUndo::nested(Statement each, Body &out) {
  if (!each.value.text.empty())
    resolve(each.value);
  // Arrays and scalars that the body changes are known afterwards only as far as both ways agree.
  std::map<std::string, TeamValue> before = values;
  llvm::StringSet<> written, changed;
  walk(each.body, [&](Statement &inner) {
    if (inner.kind == Statement::Store && inner.target.base.memory == Base::Shared)
      written.insert(inner.target.base.name);
    if (inner.kind == Statement::Assign || inner.kind == Statement::Combine)
      changed.insert(inner.name);
    return true;
  });
  auto drop = [&] {
    llvm::erase_if(arrays, [&](TeamArray &array) { return written.contains(array.base.name); });
  };
  if (each.kind == Statement::For) {
    drop();
    for (const auto &name : changed)
      if (auto at = values.find(name.getKey().str()); at != values.end())
        at->second.literal.clear();
  }
  if (each.kind == Statement::For)
    enterLoop(each);
  size_t segmentSize = segment.size();
  ++uniformDepth;
  each.body = rewrite(each.body);
  --uniformDepth;
  drop();
  if (each.progress == Statement::Until && mentionsAny(each.value, laneLocals))
    return refuse("threads that work together leave the loop over '" + space[each.variable].name +
                  "' at different times");
  for (size_t i = segmentSize; i < segment.size() && !failed(); ++i)
    for (size_t j = 0; j < segmentSize; ++j)
      if (segment[i].kind != Statement::Let && segment[j].name == segment[i].name)
        refuse("'" + segment[i].name +
               "' of each thread changes in a loop in which threads work together");
  segment.resize(std::min(segmentSize, segment.size()));
  llvm::StringSet<> gone;
  for (const auto &name : laneLocals)
    if (laneDepth[name.getKey()] > uniformDepth)
      gone.insert(name.getKey());
  for (const auto &name : gone)
    laneLocals.erase(name.getKey());
  for (const auto &name : changed) {
    auto at = before.find(name.getKey().str());
    if (at == before.end() || failed())
      continue;
    TeamValue &now = values[at->first];
    // Where the condition does not hold, the parts are what changes nothing.
    bool isPartOrNeutral =
        each.kind == Statement::If && now.spread == TeamValue::PerThread && !now.offsets &&
        now.basis.empty() && at->second.spread == TeamValue::Same &&
        now.emitted == at->second.emitted && isIdentity(at->second.literal, now.reduction);
    if (isPartOrNeutral)
      continue;
    if (now.spread != at->second.spread || now.emitted != at->second.emitted || now.offsets)
      return refuse("'" + at->first + "' holds parts of the threads after some iterations only");
    now.literal.clear();
    if (at->second.holder != now.holder)
      now.holder = TeamValue::Leader;
  }
  // What the body declares ends with it.
  std::erase_if(values, [&](auto &entry) { return !before.count(entry.first); });
  if (!each.body.empty())
    out.push_back(std::move(each));
}

} // namespace kbopt::raise
