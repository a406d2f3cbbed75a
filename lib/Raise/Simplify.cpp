//===- Simplify.cpp - Sums that need fewer terms ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which dimensions of points the sums of a nest do not need.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Raise/Simplify.h"

#include "SimplifySums.h"
#include "SinkPoints.h"
#include "kb-opt/Raise/Legality.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace kbopt;
using namespace kbopt::raise;

/// The inner dimensions along which each point reduces something, and does nothing else.
static SmallVector<kb::OverOp> reductionsOf(const PointBlocks &points) {
  SmallVector<kb::OverOp> found;
  for (Block *block : points.blocks)
    for (auto over : block->getOps<kb::OverOp>()) {
      bool reduces = false, stores = false;
      over.walk([&](Operation *op) {
        reduces |= isa<kb::ReduceOp>(op);
        stores |= isa<kb::StoreOp>(op);
      });
      if (reduces && !stores)
        found.push_back(over);
    }
  return found;
}

/// Whether the sums of \p over become the same along \p sunk.
static bool becomesSame(kb::NestOp nest, const PointBlocks &points, kb::OverOp over,
                        const std::set<std::string> &sunk, const std::set<std::string> &dependent) {
  std::set<std::string> others = dependent; // its own sums depend on them only after the loop
  over.walk([&](kb::ReduceOp reduce) { others.erase(reduce.getName().str()); });
  if (points.isSame(over, sunk, others))
    return true;
  bool hasExtent = true;
  for (auto [i, loop] : llvm::enumerate(over.getExtent().getLoops()))
    hasExtent &=
        !sunk.count(loop.str()) || !over.getExtent().getMap().isFunctionOfDim(kb::firstLoopDim + i);
  for (auto [i, symbol] : llvm::enumerate(over.getExtent().getSymbols()))
    hasExtent &= !others.count(symbol.str());
  bool readsStored = false;
  over.walk([&](Operation *op) {
    if (auto operands = op->getAttrOfType<ArrayAttr>("operands"))
      for (auto operand : operands.getAsRange<kb::OperandAttr>())
        readsStored |=
            operand.getKind() == kb::OperandKind::Element && points.isStored(operand.getBase());
  });
  return hasExtent && !readsStored && canSeparate(nest, over, sunk, others);
}

/// The dimensions along which all sums of \p nest are the same, or can be made so. At least one
/// dimension is left.
static std::set<std::string> sharedDimensions(kb::NestOp nest, const PointBlocks &points) {
  std::set<std::string> sunk;
  SmallVector<kb::OverOp> reductions = reductionsOf(points);
  if (reductions.empty())
    return sunk;
  for (auto dim : nest.getDims().getAsRange<StringAttr>()) {
    std::set<std::string> more = sunk;
    more.insert(dim.str());
    if (more.size() == nest.getDims().size())
      break;
    std::set<std::string> dependent = points.dependent(more);
    if (llvm::all_of(reductions, [&](kb::OverOp over) {
          return becomesSame(nest, points, over, more, dependent);
        }))
      sunk = more;
  }
  return sunk;
}

/// Whether a sum of \p nest reads what it also stores: taking such a sum apart could move a load
/// across a store.
static std::string storedAndSummed(kb::NestOp nest, const PointBlocks &points) {
  std::string name;
  for (kb::OverOp over : reductionsOf(points))
    over.walk([&](Operation *op) {
      if (auto operands = op->getAttrOfType<ArrayAttr>("operands"))
        for (auto operand : operands.getAsRange<kb::OperandAttr>())
          if (operand.getKind() == kb::OperandKind::Element && points.isStored(operand.getBase()))
            name = operand.getBase().getName().str();
    });
  return name;
}

static std::string simplify(kb::NestOp nest) {
  if (nest.getDomain())
    return "its points are no box";
  PointBlocks points(nest);
  if (reductionsOf(points).empty())
    return "it forms no sum";
  if (std::string name = storedAndSummed(nest, points); !name.empty())
    return "it sums elements of '" + name + "', which it also stores";
  std::set<std::string> sunk = sharedDimensions(nest, points), dependent = points.dependent(sunk);
  bool changed = false;
  for (kb::OverOp over : reductionsOf(points)) {
    std::set<std::string> others = dependent;
    over.walk([&](kb::ReduceOp reduce) { others.erase(reduce.getName().str()); });
    changed |= simplifySums(nest, over, sunk, others);
  }
  if (sunk.empty())
    return changed ? ""
                   : "no sum has a factor that is the same for all its terms, and none is the same "
                     "for several points";
  PointBlocks simpler(nest);
  dependent = simpler.dependent(sunk);
  for (kb::OverOp over : reductionsOf(simpler))
    if (!simpler.isSame(over, sunk, dependent))
      return "infinite elements would change its sums in another way";
  return sinkPoints(nest, sunk);
}

llvm::Expected<kb::NestOp> kbopt::simplifyReductions(kb::NestOp nest) {
  OpBuilder builder(nest.getContext());
  builder.setInsertionPointAfter(nest);
  auto copy = cast<kb::NestOp>(builder.clone(*nest));
  std::string reason = simplify(copy);
  if (reason.empty() && failed(verify(copy)))
    reason = "its simplified form is not consistent";
  if (reason.empty())
    if (Answer legal = isLegalNest(copy, 2, /*isApart=*/true); !legal.proven())
      reason = legal.reason;
  if (reason.empty())
    return copy;
  copy.erase();
  return llvm::createStringError(reason);
}
