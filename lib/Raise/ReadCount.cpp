//===- ReadCount.cpp - How blocks know which one is the last ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what must hold at a launch for the block that goes on to be the last one, and for its count
// to be 0 afterwards.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"

using namespace clang;

namespace kbopt::raise {

/// Requires that one thread of each block counts: along each axis its index is a constant, or there
/// is one thread.
bool ThreadReader::requireOneCounts(const LastBlock &split) {
  Statement condition;
  Body nothing;
  for (const Expr *each : split.counts)
    readCondition(each, false, condition, nothing);
  if (failed() || !nothing.empty() || !condition.value.text.empty())
    return false;
  auto isOf = [](VarId var, VarId first) { return var >= first && var < first + 3; };
  bool isOne[3] = {};
  for (const Constraint &each : condition.constraints) {
    if (!each.isEquality)
      return false;
    // x == c, or a sum of indices, times sizes of the block, that is 0: then each of them is.
    Poly sum = each.poly.constantTerm() > 0 ? Poly() - each.poly : each.poly;
    const int64_t value = -sum.constantTerm();
    bool isPositive = true, isNegative = true, isPlain = true;
    for (auto &[monomial, coefficient] : sum.monomials()) {
      if (monomial.empty())
        continue;
      isPositive &= coefficient > 0;
      isNegative &= coefficient < 0;
      isPlain &= coefficient == 1 && monomial.size() == 1;
      unsigned indices = 0;
      for (VarId var : monomial) {
        if (!isOf(var, analysis::TidVar) && !isOf(var, analysis::BdimVar))
          return false;
        if (!isOf(var, analysis::TidVar))
          continue;
        ++indices;
        isOne[var - analysis::TidVar] = true;
        if (value > 0)
          require(Poly::variable(var - analysis::TidVar + analysis::BdimVar) -
                  Poly::constant(value + 1));
      }
      if (indices != 1)
        return false;
    }
    if (value == 0 ? !isPositive && !isNegative : !isPlain || sum.monomials().size() != 2)
      return false;
  }
  for (VarId axis : {0, 1, 2})
    if (!isOne[axis])
      require(Poly::constant(1) - Poly::variable(analysis::BdimVar + axis));
  return true;
}

void ThreadReader::requireCount(const LastBlock &split) {
  std::optional<Integer> ticket = evaluate(split.ticket);
  if (!ticket || !demand(*ticket, split.ticket) || !space.isUniform(ticket->poly))
    return refuse("'" + sourceText(split.ticket) + "', by which the last block is known, is not " +
                  "understood");
  Poly last = ticket->poly - Poly::constant(split.offset),
       blocks = Poly::variable(analysis::GdimVar);
  for (VarId axis : {analysis::GdimVar + 1, analysis::GdimVar + 2}) {
    if (space.dependsOn(last, axis))
      blocks = blocks * Poly::variable(axis);
    else
      require(Poly::constant(1) - Poly::variable(axis));
  }
  if (!requireOneCounts(split))
    return refuse("its blocks are counted by threads that are not one of each block");
  auto requireSame = [&](const Poly &left, const Poly &right) {
    require(left - right);
    require(right - left);
  };
  Poly more = blocks - last - Poly::constant(1);
  if (more.isConstant() && more.constantTerm() != 0)
    return refuse("a block goes on that is not the last one");
  requireSame(last + Poly::constant(1), blocks);
  if (!split.limit)
    return;
  std::optional<Integer> limit = evaluate(split.limit);
  if (!limit || !demand(*limit, split.limit) || !space.isUniform(limit->poly))
    return refuse("'" + sourceText(split.limit) + "', after which the blocks' count is 0, is not " +
                  "understood");
  require(limit->poly - last);
  if (!split.isReset)
    require(last - limit->poly);
}

} // namespace kbopt::raise
