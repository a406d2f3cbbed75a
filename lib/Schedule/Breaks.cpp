//===- Breaks.cpp - Loops that a break ends ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Breaks.h"
#include "CudaText.h"

using namespace kbopt;
using namespace mlir;

bool kbopt::clears(Operation *op, StringRef flag) {
  auto let = dyn_cast<kb::LetOp>(op);
  return let && let.getReassigns() && let.getName() == flag && let.getText() == "false";
}

static bool mayClear(Operation &op, StringRef flag) {
  bool found = false;
  op.walk([&](Operation *inner) { found |= clears(inner, flag); });
  return found;
}

/// Whether \p other is done exactly where \p when is not.
static bool isComplement(kb::WhenOp when, Operation *other) {
  auto second = dyn_cast<kb::WhenOp>(other);
  return second && !when.getDomain() && !second.getDomain() && when.getOperands().empty() &&
         second.getOperands().empty() && second.getText() == ("!" + when.getText()).str();
}

static bool canBreak(Block &block, StringRef flag) {
  for (Operation &op : block) {
    if (!mayClear(op, flag))
      continue;
    if (clears(&op, flag))
      return &op == &block.back();
    auto when = dyn_cast<kb::WhenOp>(op);
    Operation *next = op.getNextNode();
    bool isLast = !next || (when && next == &block.back() && isComplement(when, next));
    if (!when || !isLast || !canBreak(when.getBody().front(), flag))
      return false;
  }
  return true;
}

/// Whether \p op names \p flag, be it to declare, to clear or to ask it.
static bool names(Operation *op, StringRef flag) {
  bool found = false;
  if (auto let = dyn_cast<kb::LetOp>(op))
    found = let.getName() == flag;
  if (auto text = op->getAttrOfType<StringAttr>("text"))
    collectIdentifiers(text.getValue(), [&](StringRef word) { found |= word == flag; });
  return found;
}

bool kbopt::endsByBreak(kb::OverOp over) {
  auto let = dyn_cast_or_null<kb::LetOp>(over->getPrevNode());
  if (!over.getText() || !let || let.getReassigns() || let.getName() != *over.getText() ||
      !canBreak(over.getBody().front(), let.getName()))
    return false;
  bool isOnly = true;
  over->getParentOfType<kb::NestOp>().walk([&](Operation *op) {
    isOnly &= op == let || op == over || !names(op, let.getName()) || clears(op, let.getName());
  });
  return isOnly;
}

bool kbopt::alwaysBreaks(kb::WhenOp when, StringRef flag) {
  Block &body = when.getBody().front();
  return !flag.empty() && !body.empty() && clears(&body.back(), flag);
}

bool kbopt::declaresBreak(Operation *op) {
  auto let = dyn_cast<kb::LetOp>(op);
  auto over = dyn_cast_or_null<kb::OverOp>(op->getNextNode());
  return let && over && over.getText() == let.getName() && endsByBreak(over);
}
