//===- TeamArrays.cpp - Shared arrays of a team ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what shared arrays hold: partial results by thread or warp, one value for all, or a copy of
// other memory.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "TeamUndo.h"

namespace kbopt::raise {

TeamArray *TeamUndo::findArray(const Base &base, const Poly &offset, Poly &rest) {
  TeamArray *found = nullptr;
  for (TeamArray &array : arrays) {
    if (!(array.base == base))
      continue;
    Poly distance = offset - array.start;
    bool isKnown = distance == Poly::constant(0) || distance == Poly::variable(team.lane) ||
                   (team.isBlock && (distance == warpLane || distance == warpNumber));
    if (isKnown && (!found || distance == Poly::constant(0))) {
      found = &array;
      rest = distance;
    }
  }
  return found;
}

void TeamUndo::forget(const Base &base, const Poly &start, const std::optional<Poly> &length) {
  llvm::erase_if(arrays, [&](TeamArray &array) {
    if (!(array.base == base))
      return false;
    // Apart if one ends before the other starts.
    Poly distance = start - array.start;
    std::optional<Poly> other = array.isOne ? Poly::constant(1) : array.length;
    auto isBefore = [&](const std::optional<Poly> &extent, const Poly &gap) {
      if (!extent)
        return false;
      Poly room = gap - *extent;
      return room.isConstant() && room.constantTerm() >= 0;
    };
    return !isBefore(other, distance) && !isBefore(length, distance * Poly::constant(-1));
  });
}

std::optional<TeamValue> TeamUndo::readShared(const Operand &element) {
  Poly rest;
  TeamArray *array = findArray(element.base, element.offset, rest);
  if (!array || array->variable)
    return std::nullopt;
  TeamValue value = array->value;
  bool isFirst = rest == Poly::constant(0);
  if (array->isOne)
    return isFirst ? std::optional(value) : std::nullopt;
  if (!array->laneLocal.empty())
    return std::nullopt;
  if (isFirst) {
    value.spread = value.spread == TeamValue::PerThread || value.spread == TeamValue::PerWarp
                       ? TeamValue::First
                       : TeamValue::Lost;
    value.source = element.base.name;
    value.offset = array->start;
    return value;
  }
  if (value.spread == TeamValue::PerThread && rest == Poly::variable(team.lane) &&
      array->length == team.size)
    return value;
  if (value.spread == TeamValue::PerWarp && rest == warpNumber)
    return value;
  // Every lane of a warp reads one warp's part.
  bool fills = rest == warpLane && warps == Poly::constant(32);
  if (value.spread == TeamValue::PerWarp && fills) {
    value.spread = TeamValue::PerWarpLane;
    value.holder = TeamValue::Everyone;
    return value;
  }
  return std::nullopt;
}

std::optional<TeamValue> TeamUndo::valueOf(Text &text) {
  if (Operand *operand = onlyOperand(text)) {
    if (operand->kind == Operand::Collective)
      return collective(*operand);
    if (operand->kind == Operand::Element && operand->base.memory == Base::Shared)
      return readShared(*operand);
    return std::nullopt;
  }
  if (text.isPlain()) {
    auto at = values.find(bare(text.text).str());
    if (at == values.end() ||
        (at->second.spread == TeamValue::Same && at->second.holder == TeamValue::Everyone))
      return std::nullopt;
    return at->second;
  }
  return gathered(text);
}

std::optional<TeamValue> TeamUndo::gathered(Text &text) {
  // lane < warps ? array[lane] : neutral
  auto [condition, choice] = bare(text.text).split('?');
  auto [taken, other] = choice.split(':');
  int hole = -1;
  for (auto [i, operand] : llvm::enumerate(text.operands))
    if (operand.kind == Operand::Element && operand.base.memory == Base::Shared)
      hole = hole < 0 ? int(i) : int(text.operands.size());
  if (hole < 0 || size_t(hole) >= text.operands.size() || bare(taken) != "$" + std::to_string(hole))
    return std::nullopt;
  auto [left, right] = bare(condition).split('<');
  auto polyOf = [&](llvm::StringRef side) -> Poly {
    unsigned number = 0;
    int64_t constant = 0;
    side = bare(side);
    if (side.consume_front("$") && !side.getAsInteger(10, number) &&
        number < text.operands.size() && text.operands[number].kind == Operand::Index)
      return text.operands[number].offset;
    if (!side.getAsInteger(10, constant))
      return Poly::constant(constant);
    return Poly::variable(team.lane) * Poly::variable(team.lane);
  };
  return gather(text.operands[hole], polyOf(right) - polyOf(left) - Poly::constant(1), other);
}

std::optional<TeamValue> TeamUndo::gather(const Operand &element, const Poly &condition,
                                          llvm::StringRef other) {
  if (!team.isBlock)
    return std::nullopt;
  Poly rest, lane = Poly::variable(team.lane);
  TeamArray *array = findArray(element.base, element.offset, rest);
  if (!array || array->isOne || array->variable || array->value.spread != TeamValue::PerWarp)
    return std::nullopt;
  bool byWarpLane = condition == warps - warpLane - Poly::constant(1);
  bool byThread = condition == warps - lane - Poly::constant(1);
  if ((rest != warpLane && rest != lane) || (!byWarpLane && !byThread) ||
      (rest == lane && !byThread))
    return std::nullopt;
  TeamValue value = array->value;
  if (auto named = values.find(bare(other).str());
      named != values.end() && named->second.spread == TeamValue::Same)
    other = named->second.literal;
  bool isNeutral = isIdentity(bare(other), value.reduction) ||
                   (isIdempotent(value.reduction) && bare(other) == bare(value.literal));
  if (!isNeutral)
    return std::nullopt;
  value.spread = TeamValue::PerWarpLane;
  value.holder = byThread ? TeamValue::FirstWarp : TeamValue::Everyone;
  return value;
}

void TeamUndo::writeShared(Statement &each, Body &out) {
  const Base &base = each.target.base;
  const Poly &offset = each.target.offset;
  Poly lane = Poly::variable(team.lane);
  auto without = [&](const Poly &part) { return offset - part; };
  bool byThread = !isLaneDependent(without(lane));
  bool byWarp = team.isBlock && !isLaneDependent(without(warpNumber));
  bool isOne = !isLaneDependent(offset);
  if (!byThread && !byWarp && !isOne)
    return refuse("threads store to '" + base.name + "' in a way that is not understood");
  TeamArray array;
  array.base = base;
  array.start = isOne ? offset : without(byThread ? lane : warpNumber);
  array.isOne = isOne;
  array.length = isOne ? Poly::constant(1) : byThread ? team.size : warps;
  if (each.value.isPlain() && types.contains(bare(each.value.text)) &&
      types[bare(each.value.text)] == each.target.type)
    array.mirrored = bare(each.value.text).str();

  std::optional<TeamValue> value = valueOf(each.value);
  if (failed())
    return;
  if (!value && isLaneDependent(each, false) && byThread && !isOne && here == TeamValue::Everyone) {
    Statement local;
    local.kind = Statement::Let;
    local.name = uniqueName(base.name + "Value");
    local.type = each.target.type;
    local.value = each.value;
    types[local.name] = local.type;
    array.laneLocal = local.name;
    forget(base, array.start, array.length);
    addLaneLocal(std::move(local));
    arrays.push_back(std::move(array));
    return;
  }
  if (!value) {
    resolve(each.value);
    value = TeamValue();
    value->emitted = each.value.text;
    if (!isOne)
      value->spread = TeamValue::Lost;
  }
  if (failed())
    return;
  bool fits = isOne ? value->spread == TeamValue::Same && isHeldHere(*value)
              : byThread
                  ? value->spread == TeamValue::PerThread && here == TeamValue::Everyone
                  : value->spread == TeamValue::PerWarp &&
                        (value->holder == TeamValue::Everyone || here == TeamValue::WarpLeaders) &&
                        (here == TeamValue::Everyone || here == TeamValue::WarpLeaders);
  if (!fits || value->offsets)
    return refuse("threads store to '" + base.name + "' in a way that is not understood");
  // The scalar may change before the array is read.
  Statement copy;
  copy.kind = Statement::Let;
  copy.name = uniqueName(base.name + "Value");
  copy.type = each.target.type;
  copy.value = value->emitted == each.value.text ? each.value : Text{value->emitted, {}};
  types[copy.name] = copy.type;
  declared.insert(copy.name);
  value->emitted = copy.name;
  value->holder = TeamValue::Everyone;
  array.value = *value;
  out.push_back(std::move(copy));
  forget(base, array.start, array.length);
  arrays.push_back(std::move(array));
}

void TeamUndo::writeCopy(Statement &each, Statement &outer, const llvm::StringSet<> &locals) {
  TeamArray array;
  array.base = each.target.base;
  array.start = each.target.offset - Poly::variable(outer.variable);
  bool isPure = !space.dependsOn(array.start, outer.variable) && !isLaneDependent(array.start);
  for (Operand &operand : each.value.operands)
    isPure &= operand.kind != Operand::Collective;
  for (const auto &local : locals)
    isPure &= !mentions(each.value.text, local.getKey());
  if (!isPure)
    return refuse("threads store to '" + array.base.name + "' in a way that is not understood");
  array.variable = outer.variable;
  array.first = outer.begin;
  array.end = outer.end;
  array.copied = each.value;
  forget(array.base, array.start + array.first, array.end - array.first);
  arrays.push_back(std::move(array));
}

bool TeamUndo::forwardCopy(Text &text, unsigned hole) {
  Operand operand = text.operands[hole];
  for (TeamArray &array : arrays) {
    if (!(array.base == operand.base) || !array.variable)
      continue;
    // Which element: one that a loop over the same range reads.
    Poly index = operand.offset - array.start;
    bool isInRange = false;
    if (index.monomials().size() == 1 && index.monomials().begin()->first.size() == 1) {
      VarId var = index.monomials().begin()->first[0];
      auto range = loopRanges.find(var);
      isInRange = range != loopRanges.end() && index == Poly::variable(var) &&
                  range->second.first == array.first && range->second.second == array.end;
    }
    if (!isInRange)
      continue;
    for (Operand &each : array.copied.operands)
      if (each.kind == Operand::Element && llvm::is_contained(storedBases, each.base)) {
        refuse("'" + array.base.name + "' keeps elements of '" + each.base.name +
               "', which the kernel changes");
        return false;
      }
    Text copied = array.copied;
    for (Operand &each : copied.operands)
      each.offset = space.substitute(each.offset, *array.variable, index);
    if (!operand.type.empty() && !copied.operands.empty() && bare(copied.text) != "$0")
      copied.text = "(" + operand.type + ")(" + copied.text + ")";
    fillHole(text, hole, copied);
    return true;
  }
  return false;
}

} // namespace kbopt::raise
