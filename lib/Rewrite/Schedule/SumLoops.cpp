//===- SumLoops.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "SumLoops.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

/// Why \p over does more than to sum, in any order; empty if it does not.
StringRef whyNotAlone(kb::OverOp over) {
  bool isAlone = true;
  over.walk([&](mlir::Operation *op) {
    isAlone &= !mlir::isa<kb::StoreOp>(op);
    if (auto inner = mlir::dyn_cast<kb::OverOp>(op))
      isAlone &= inner.getOrder() != kb::LoopOrder::Ascending && !inner.getText();
  });
  return isAlone ? "" : "the loop of its sum does more than to sum";
}

/// The variable of \p reduce; null if it is not found.
kb::LetOp variableOf(kb::NestOp nest, kb::ReduceOp reduce) {
  kb::LetOp variable;
  nest.walk([&](kb::LetOp let) {
    if (let.getName() == reduce.getName() && !let.getReassigns())
      variable = let;
  });
  return variable;
}

/// The only sum of a point, in its only loop; it may stand under conditions.
std::string findOneSum(kb::NestOp nest, SumOfPoint sum, std::vector<SumLoop> &found) {
  size_t loops = 0;
  SumLoop loop;
  for (mlir::Operation *at = sum.reduce->getParentOp(); at != nest.getOperation();
       at = at->getParentOp())
    if (auto over = mlir::dyn_cast<kb::OverOp>(at); over && !over->isAncestor(sum.variable))
      loop.over = over;
  nest.walk([&](kb::OverOp over) { loops += !loop.over || !loop.over->isAncestor(over); });
  if (!loop.over || loops)
    return "its sum stands in a loop, or beside one";
  loop.sums = {sum};
  found = {loop};
  return whyNotAlone(loop.over).str();
}

/// The sums of \p op, which is a loop directly in \p nest; none if it has none.
std::string findSumsOf(kb::NestOp nest, mlir::Operation &op, SumLoop &loop) {
  std::string why;
  loop.over = mlir::dyn_cast<kb::OverOp>(op);
  op.walk([&](kb::ReduceOp reduce) {
    kb::LetOp variable = variableOf(nest, reduce);
    if (!variable)
      why = ("the variable of its sum, '" + reduce.getName() + "', is not found").str();
    else if (!loop.over || !op.isAncestor(variable)) // else it is part of a term
      loop.sums.push_back({reduce, variable});
  });
  if (loop.sums.empty() || !why.empty())
    return why;
  if (!loop.over || llvm::any_of(loop.sums, [&](const SumOfPoint &sum) {
        return kb::LetOp(sum.variable)->getBlock() != op.getBlock();
      }))
    return "its sums do not stand one after the other";
  return whyNotAlone(loop.over).str();
}

/// Sums one after the other, before everything that a point stores.
std::string findChain(kb::NestOp nest, std::vector<SumLoop> &found) {
  bool hasStored = false;
  size_t number = 0;
  StringRef type;
  for (mlir::Operation &op : nest.getBody().front()) {
    SumLoop loop;
    loop.first = number;
    if (std::string why = findSumsOf(nest, op, loop); !why.empty())
      return why;
    if (loop.sums.empty()) {
      hasStored |= !mlir::isa<kb::LetOp>(op);
      continue;
    }
    if (hasStored)
      return "it stores something before a sum";
    for (SumOfPoint &sum : loop.sums)
      if (StringRef own = sum.variable.getType(); !std::exchange(type, own).empty() && type != own)
        return "its sums are of different types";
    number += loop.sums.size();
    found.push_back(std::move(loop));
  }
  return found.empty() ? "its sums stand in a loop" : "";
}

} // namespace

std::string kbopt::findSums(kb::NestOp nest, std::vector<SumLoop> &found) {
  if (nest.getDomain())
    return "its points are no box";
  SumOfPoint only;
  size_t reductions = 0;
  nest.walk([&](kb::ReduceOp reduce) { only.reduce = reduce, ++reductions; });
  if (!reductions)
    return "it forms no sum";
  only.variable = reductions == 1 ? variableOf(nest, only.reduce) : kb::LetOp();
  std::string why = only.variable ? findOneSum(nest, only, found) : "";
  if (only.variable && why.empty())
    return "";
  found.clear();
  std::string whyNoChain = findChain(nest, found);
  return !whyNoChain.empty() && !why.empty() ? why : whyNoChain;
}
