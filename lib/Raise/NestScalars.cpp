//===- NestScalars.cpp - Scalars of a nest and their uses --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the rules for variables that kb.reduce and a reassigning kb.let change.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kbopt::raise {

bool mentions(StringRef text, StringRef name) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1))
    if ((!at || !isWord(text[at - 1])) &&
        (at + name.size() == text.size() || !isWord(text[at + name.size()])))
      return true;
  return false;
}

/// Whether \p op uses the value of \p name: in its text, or in an index that depends on it.
static bool uses(Operation *op, StringRef name) {
  if (auto text = op->getAttrOfType<StringAttr>("text"); text && mentions(text.getValue(), name))
    return true;
  auto usesSymbol = [&](kb::ExprAttr expr) {
    for (auto [position, symbol] : llvm::enumerate(expr.getSymbols()))
      if (symbol.getValue() == name &&
          expr.getMap().isFunctionOfSymbol(kb::firstNamedSymbol + position))
        return true;
    return false;
  };
  if (auto operands = op->getAttrOfType<ArrayAttr>("operands"))
    for (auto operand : operands.getAsRange<kb::OperandAttr>())
      if (usesSymbol(operand.getOffset()))
        return true;
  if (auto store = dyn_cast<kb::StoreOp>(op))
    return usesSymbol(store.getTarget().getOffset());
  if (auto over = dyn_cast<kb::OverOp>(op))
    return usesSymbol(over.getExtent());
  if (auto when = dyn_cast<kb::WhenOp>(op); when && when.getDomainAttr())
    return llvm::any_of(when.getDomainAttr().getSymbols(),
                        [&](StringAttr symbol) { return symbol == name; });
  return false;
}

/// The outermost kb.over around \p op that does not enclose the declaration of \p name as well, and
/// is not ascending. Null if there is none.
static kb::OverOp carryingOver(Operation *op, StringRef name) {
  kb::OverOp carrying;
  for (Operation *up = op; !isa<kb::NestOp>(up); up = up->getParentOp()) {
    for (Operation &sibling : *up->getBlock()) {
      if (&sibling == up)
        break;
      if (auto let = dyn_cast<kb::LetOp>(sibling);
          let && let.getName() == name && !let.getReassigns())
        return carrying;
    }
    if (auto over = dyn_cast<kb::OverOp>(up->getParentOp());
        over && over.getOrder() != kb::LoopOrder::Ascending)
      carrying = over;
  }
  return carrying;
}

/// \p reduce must be the only use of \p name in \p over.
static std::string otherUse(kb::OverOp over, kb::ReduceOp reduce, StringRef name) {
  std::string reason;
  over.walk([&](Operation *op) {
    auto other = dyn_cast<kb::ReduceOp>(op);
    bool combinesAlike = other && other.getName() == reduce.getName() &&
                         other.getReduction() == reduce.getReduction() &&
                         other.getCombine() == reduce.getCombine();
    auto let = dyn_cast<kb::LetOp>(op);
    if (uses(op, name) || (let && let.getName() == name) ||
        (other && mentions(other.getName(), name) && !combinesAlike))
      reason = "iterations of '" + over.getName().str() + "' use the partial value of '" +
               name.str() + "'";
  });
  return reason;
}

std::string carriedScalar(kb::NestOp nest) {
  std::string reason;
  nest.walk([&](Operation *op) {
    if (!reason.empty())
      return;
    if (auto let = dyn_cast<kb::LetOp>(op); let && let.getReassigns())
      if (kb::OverOp over = carryingOver(op, let.getName()))
        reason = "iterations of '" + over.getName().str() + "' change '" + let.getName().str() +
                 "' in turn";
    auto reduce = dyn_cast<kb::ReduceOp>(op);
    if (!reduce)
      return;
    SmallVector<StringRef> names;
    reduce.getName().split(names, ',');
    for (StringRef name : names) {
      kb::OverOp over = carryingOver(op, name.trim());
      if (!over)
        continue;
      bool reduces = true;
      for (Operation *up = op->getParentOp();; up = up->getParentOp()) {
        if (auto each = dyn_cast<kb::OverOp>(up))
          reduces &= each.getOrder() != kb::LoopOrder::Any;
        if (up == over.getOperation())
          break;
      }
      reason = reduces ? otherUse(over, reduce, name.trim())
                       : "iterations of '" + over.getName().str() + "' combine into '" +
                             name.trim().str() + "', but are called independent";
      if (!reason.empty())
        return;
    }
  });
  return reason;
}

} // namespace kbopt::raise
