//===- TeamReductions.cpp - How partial results become one -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns shuffles, reductions of cooperative groups, trees in shared memory, and sums that one thread
// forms of an array of partial results.
//
//===----------------------------------------------------------------------===//
#include "TeamUndo.h"
#include "llvm/ADT/StringSwitch.h"

namespace kbopt::raise {

/// The value of an argument that is an index or a number.
static std::optional<Poly> polyOf(Text &text) {
  if (Operand *operand = onlyOperand(text))
    return operand->kind == Operand::Index ? std::optional(operand->offset) : std::nullopt;
  int64_t number = 0;
  if (text.isPlain() && !bare(text.text).rtrim("uU").getAsInteger(0, number))
    return Poly::constant(number);
  return std::nullopt;
}

/// "add" for `cg::plus<float>{}`.
static llvm::StringRef reductionOfFunctor(llvm::StringRef text) {
  text = text.take_until([](char c) { return c == '<' || c == '(' || c == '{'; });
  return llvm::StringSwitch<llvm::StringRef>(
             text.rsplit("::").second.empty() ? text : text.rsplit("::").second)
      .Cases({"plus", "Sum"}, "add")
      .Cases({"greater", "Max", "maximum"}, "max")
      .Cases({"less", "Min", "minimum"}, "min")
      .Case("bit_and", "and")
      .Case("bit_or", "or")
      .Case("bit_xor", "xor")
      .Default("");
}

bool TeamUndo::isShuffledCombine(Statement &each) const {
  if (each.kind != Statement::Assign || each.value.operands.size() != 1 ||
      each.value.operands[0].kind != Operand::Collective ||
      !llvm::StringRef(each.value.operands[0].function).contains("shfl"))
    return false;
  Text value = each.value;
  renameIn(value, each.name, "$1");
  Combination by = combinationIn(value.text);
  if (by.reduction.empty())
    return false;
  each.kind = Statement::Combine;
  each.reduction = by.reduction;
  each.combine = by.combine;
  each.value.text = "$0";
  return true;
}

std::optional<TeamValue> TeamUndo::collective(Operand &operand) {
  llvm::StringRef function = operand.function;
  bool isBlock = function == "block_reduce";
  bool isGroup = isBlock || function == "reduce" ||
                 (function.starts_with("shfl") && operand.arguments.size() == 3);
  bool hasMask = function.ends_with("_sync");
  bool isShuffle = function.contains("shfl");
  unsigned first = isGroup || hasMask ? 1 : 0;
  if (operand.arguments.size() < first + 2 || (!isShuffle && !isBlock && function != "reduce"))
    return std::nullopt;
  Text &of = operand.arguments[first], &last = operand.arguments[first + 1];
  std::optional<TeamValue> value = valueOf(of);
  if (!value && of.isPlain())
    if (auto at = values.find(bare(of.text).str()); at != values.end())
      value = at->second;
  if (isShuffle) {
    std::optional<Poly> offset = polyOf(last);
    if (!offset)
      return std::nullopt;
    bool isBroadcast = function == "__shfl_sync" || function == "__shfl" || function == "shfl";
    if (isBroadcast) {
      bool isFromLeader = *offset == Poly::constant(0);
      bool wasHeld = value && (value->holder == TeamValue::Everyone || isFromLeader);
      // The first lane of a block's first warp is not that of the others.
      if (!wasHeld || value->offsets ||
          (value->holder == TeamValue::Leader && team.isBlock &&
           !(team.size == Poly::constant(32))))
        return std::nullopt;
      value->holder = TeamValue::Everyone;
      return value->spread == TeamValue::Same || value->spread == TeamValue::PerWarp ? value
                                                                                     : std::nullopt;
    }
    if (!function.contains("down") && !function.contains("xor"))
      return std::nullopt;
    // Without a width the lanes of a whole warp exchange.
    std::optional<Poly> width = Poly::constant(32);
    if (operand.arguments.size() > first + 2 && !operand.arguments[first + 2].text.empty())
      width = polyOf(operand.arguments[first + 2]);
    if (!width || !width->isConstant())
      return std::nullopt;
    TeamValue shuffled;
    shuffled.width = width->constantTerm();
    shuffled.spread = TeamValue::Shuffled;
    shuffled.source = shuffled.emitted = bare(of.text).str();
    shuffled.isDown = function.contains("down");
    shuffled.offset = *offset;
    if (!of.isPlain() || !isName(bare(of.text)))
      return std::nullopt;
    return shuffled;
  }
  // cg::reduce(group, value, operator): the first argument is the size of the group.
  std::optional<Poly> size = polyOf(operand.arguments[0]);
  llvm::StringRef reduction = reductionOfFunctor(last.text);
  if (!size || !size->isConstant() || reduction.empty())
    return std::nullopt;
  if (!value && of.isPlain() && laneLocals.contains(bare(of.text)) &&
      laneDepth[bare(of.text)] == uniformDepth) {
    value = reduceLanes(bare(of.text).str(), combinationOf(reduction), *emitted);
    value->spread = TeamValue::PerThread;
  }
  if (failed() || !value || !value->isPartial() || value->reduction != reduction ||
      value->offsets || !value->basis.empty())
    return std::nullopt;
  if (isBlock) {
    if (!team.isBlock || !(team.size == *size) || value->spread != TeamValue::PerThread ||
        value->holder != TeamValue::Everyone)
      return std::nullopt;
    value->spread = TeamValue::Same;
    value->holder = TeamValue::Leader;
    return value;
  }
  value->offsets = size->constantTerm() - 1;
  value->isDown = false;
  finishShuffles(*value);
  return value->offsets ? std::nullopt : value;
}

bool TeamUndo::hasWholeWarps() {
  Poly rest = space.mod(team.size, Poly::constant(32));
  if (rest.isConstant())
    return rest.constantTerm() == 0;
  Poly requirement = rest * Poly::constant(-1);
  if (!llvm::is_contained(program.requirements, requirement))
    program.requirements.push_back(requirement);
  return true;
}

void TeamUndo::finishShuffles(TeamValue &value) {
  unsigned offsets = value.offsets;
  bool isConstant = team.size.isConstant();
  int64_t size = isConstant ? team.size.constantTerm() : 0;
  auto finish = [&](TeamValue::Spread spread, TeamValue::Holder holder) {
    value.spread = spread;
    value.holder = holder;
    value.offsets = 0;
    value.isDown = false;
  };
  if (value.spread == TeamValue::PerThread) {
    if (isConstant && size <= 32 && offsets == size - 1)
      finish(TeamValue::Same, value.isDown ? TeamValue::Leader : TeamValue::Everyone);
    else if (team.isBlock && offsets == 31 && hasWholeWarps())
      finish(TeamValue::PerWarp, value.isDown ? TeamValue::WarpLeaders : TeamValue::Everyone);
    return;
  }
  if (value.spread == TeamValue::PerWarpLane) {
    int64_t count = warps.isConstant() ? warps.constantTerm() : 32;
    bool isComplete = llvm::isPowerOf2_64(uint64_t(offsets) + 1) && offsets <= 31 &&
                      int64_t(offsets) + 1 >= count;
    if (isComplete)
      finish(TeamValue::Same, value.isDown || value.holder != TeamValue::Everyone
                                  ? TeamValue::Leader
                                  : TeamValue::Everyone);
  }
}

bool TeamUndo::applyShuffle(const std::string &name, const TeamValue &shuffled,
                            const Statement &combine) {
  if (shuffled.source != name)
    return false;
  if (laneLocals.contains(name)) {
    if (laneDepth[name] != uniformDepth) {
      refuse("'" + name + "' of each thread is combined in a loop");
      return false;
    }
    TeamValue all = reduceLanes(name, {combine.reduction, combine.combine}, *emitted);
    if (failed())
      return false;
    std::string local = uniqueName(name);
    renameIn(segment, name, local);
    laneLocals.erase(name);
    laneLocals.insert(local);
    laneDepth[local] = uniformDepth;
    types[local] = types[name];
    all.spread = TeamValue::PerThread;
    // From here on the name is what the parts combine to.
    Statement copy;
    copy.kind = Statement::Assign;
    copy.name = name;
    copy.value = {all.emitted, {}};
    declareAnew(copy);
    all.emitted = name;
    emitted->push_back(std::move(copy));
    values[name] = all;
  }
  auto at = values.find(name);
  if (at == values.end() || at->second.reduction != combine.reduction ||
      (at->second.spread != TeamValue::PerThread && at->second.spread != TeamValue::PerWarpLane))
    return false;
  TeamValue &value = at->second;
  unsigned offsets = 0;
  if (shuffleLoopOffsets && shuffled.offset == Poly::variable(shuffleLoopOffsets->first))
    offsets = shuffleLoopOffsets->second;
  else if (shuffled.offset.isConstant() && !shuffleLoopOffsets)
    offsets = shuffled.offset.constantTerm();
  bool isNew = offsets && offsets < 32 && !(value.offsets & offsets);
  if (!isNew || 2 * int64_t(llvm::bit_floor(offsets)) > shuffled.width ||
      (!shuffleLoopOffsets && !llvm::isPowerOf2_32(offsets)) ||
      (value.offsets && value.isDown != shuffled.isDown))
    return false;
  value.offsets |= offsets;
  value.isDown = shuffled.isDown;
  finishShuffles(value);
  if (!combine.isPair)
    return true;
  // The maxima were exchanged in the same way, just before.
  auto sameAs = [&](const auto &other) {
    const TeamValue &maximum = other.second;
    return maximum.origin == value.basis && maximum.spread == value.spread &&
           maximum.offsets == value.offsets && maximum.holder == value.holder;
  };
  auto maximum = llvm::find_if(values, sameAs);
  if (value.basis.empty() || maximum == values.end() || !value.terms ||
      !space.isUniform(*value.terms))
    return false;
  // Two threads without terms would make NaN of their maxima.
  bool isInfinite = isIdentity(maximum->second.literal, "max");
  if (isInfinite && value.spread == TeamValue::PerWarpLane)
    return false;
  if (isInfinite)
    program.requirements.push_back(*value.terms - team.size);
  if (value.spread == TeamValue::Same)
    value.basis.clear();
  return true;
}

bool TeamUndo::shuffleLoop(Statement &each, Body &out) {
  bool exchanges = false, isOnly = true;
  for (Statement &inner : each.body) {
    bool isBarrier = inner.kind == Statement::Barrier;
    bool isScalar = inner.kind == Statement::Let || inner.kind == Statement::Combine ||
                    inner.kind == Statement::Assign;
    isOnly &= isBarrier || isScalar;
    for (Operand &operand : inner.value.operands)
      exchanges |=
          operand.kind == Operand::Collective && llvm::StringRef(operand.function).contains("shfl");
  }
  if (!exchanges)
    return false;
  unsigned offsets = 0;
  if (each.begin.isConstant() && each.end.isConstant() && each.begin.constantTerm() < 64) {
    int64_t begin = each.begin.constantTerm(), end = each.end.constantTerm();
    if (each.progress == Statement::Halve && end >= 1)
      for (int64_t offset = begin; offset >= end; offset /= 2)
        offsets |= offset;
    else if (each.progress == Statement::Double && begin >= 1)
      for (int64_t offset = begin; offset < end && offset < 64; offset *= 2)
        offsets |= offset;
  }
  bool isPowers = offsets && llvm::isPowerOf2_64(uint64_t(offsets) + 1);
  if (!isOnly || !isPowers) {
    refuse("the offsets of the shuffles in the loop over '" + space[each.variable].name +
           "' are not understood");
    return true;
  }
  shuffleLoopOffsets = {each.variable, offsets};
  Body inside;
  for (Statement &inner : each.body)
    if (!failed())
      statement(inner, isShuffledCombine(inner) || inner.kind == Statement::Combine ? out : inside);
  shuffleLoopOffsets.reset();
  if (!inside.empty())
    refuse("the loop over '" + space[each.variable].name +
           "' does more than combine values of other threads");
  return true;
}

bool TeamUndo::serialSum(Statement &each, Body &out) {
  // for (i = 1; i < count; ++i) value = value + array[i], where value started as array[0].
  if (each.progress != Statement::Add || !(each.step == Poly::constant(1)) ||
      each.body.size() != 1 || each.body[0].kind != Statement::Combine)
    return false;
  Statement &inner = each.body[0];
  Operand *operand = onlyOperand(inner.value);
  if (!operand || operand->kind != Operand::Element || operand->base.memory != Base::Shared)
    return false;
  Poly start = operand->offset - Poly::variable(each.variable);
  auto at = values.find(inner.name);
  for (TeamArray &array : arrays) {
    bool isLocal = !array.laneLocal.empty();
    bool isPartial =
        isLocal ||
        ((array.value.spread == TeamValue::PerThread || array.value.spread == TeamValue::PerWarp) &&
         array.value.reduction == inner.reduction);
    if (!(array.base == operand->base) || !(array.start == start) || array.isOne ||
        array.variable || !isPartial || !array.value.basis.empty() || !array.length ||
        !(*array.length == each.end) || at == values.end())
      continue;
    TeamValue &value = at->second;
    bool startsFirst = value.spread == TeamValue::First && value.source == array.base.name &&
                       value.offset == array.start && each.begin == Poly::constant(1);
    bool startsNeutral = value.spread == TeamValue::Same && each.begin == Poly::constant(0) &&
                         isIdentity(value.literal, inner.reduction);
    startsFirst &= !isLocal;
    if (!startsFirst && !startsNeutral)
      continue;
    std::string parts = array.value.emitted;
    if (isLocal) {
      std::string local = array.laneLocal, wish = array.base.name, name = inner.name;
      parts = reduceLanes(local, {inner.reduction, inner.combine}, out, wish).emitted;
      if (failed())
        return true;
    }
    if (startsNeutral) {
      Statement set;
      set.kind = Statement::Assign;
      set.name = inner.name;
      set.value.text = parts;
      out.push_back(std::move(set));
    }
    value = TeamValue();
    value.emitted = inner.name;
    value.holder = here;
    return true;
  }
  return false;
}

} // namespace kbopt::raise
