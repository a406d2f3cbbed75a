//===- ScanShape.cpp - What a schedule of a scan asks for -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Accesses.h"
#include "Bounds.h"
#include "RowsNest.h"
#include "ScanPrinter.h"

using namespace kbopt;
using namespace mlir;

bool ScanPrinter::isPartial() const {
  auto constant = scan.extent.getConstant();
  return width > 1 && !scan.guard && scan.rows.size() == 0 && !(constant && *constant % width == 0);
}

std::string ScanPrinter::chooseShape() {
  if (std::string reason = scan.whyNot(); !reason.empty())
    return reason;
  team = schedule.integer("team", 256), width = schedule.integer("vector", 4),
  rows = schedule.integer("rows", 1), launches = schedule.integer("launches", 1);
  if (!llvm::isPowerOf2_64(team) || team < 32 || team > 1024)
    return "the key 'team' must be a power of two from 32 to 1024";
  if (!llvm::isPowerOf2_64(width) || width > 16)
    return "the key 'vector' must be a power of two up to 16";
  if (!llvm::isPowerOf2_64(rows) || rows > 32 || (rows > 1 && !isWarp()))
    return "the key 'rows' must be a power of two up to 32, and 1 where a block takes a row";
  if (launches < 1 || launches > 3)
    return "the key 'launches' must be 1, 2 or 3";
  if (launches > 1 && isWarp())
    return "blocks that share a row have more than 32 threads";
  return launches == 3 ? scan.whyNoSlot() : launches == 2 ? whyNoLookBack(scan) : "";
}

std::string ScanPrinter::require() {
  if (std::string reason = requireInts(text, needs); !reason.empty())
    return reason;
  auto conditions = multipleConditions(nest, scan.extent, "", isPartial() ? 1 : width);
  if (width > 1 && !conditions)
    return "the extent of '" + scan.dim.str() + "' is not known to be a multiple of anything";
  if (width > 1)
    for (const std::string &condition : *conditions)
      needs.expression(condition);
  if (auto constant = scan.extent.getConstant(); constant && *constant % width && !isPartial())
    return "the extent of '" + scan.dim.str() + "' is not a multiple of " + std::to_string(width);
  // The step must not carry a tile past the largest int.
  kb::ExprAttr largest = largestExtent(nest, scan.extent);
  std::string host = largest ? text.hostExpression(largest) : "";
  if (host.empty())
    return "the host does not know the extent of '" + scan.dim.str() + "'";
  if (!largest.getConstant())
    needs.expression(host + " <= 0x40000000");
  unaliased = keepApart(text, needs);
  return "";
}

/// Whether elements at \p operand fall as \p dim grows, and vectors of them begin at multiples.
bool ScanPrinter::isFalling(kb::OperandAttr operand, StringRef dim) {
  kb::BaseAttr base = operand.getBase();
  int64_t bytes = width * operand.getBytes();
  if (strideAlong(operand.getOffset(), dim) != -1 || base.getKind() != kb::BaseKind::Argument ||
      base.getByteOffset() != 0 || usesNameOf(operand.getOffset(), *scan.block, &text) ||
      !llvm::isPowerOf2_64(bytes) || bytes > 64)
    return false;
  auto conditions = multipleConditions(
      nest, combined(operand.getOffset(), 0, operand.getOffset(), 1), dim, width);
  if (!conditions)
    return false;
  for (const std::string &condition : *conditions)
    needs.expression(condition);
  needs.aligned(base, std::min<int64_t>(bytes, 16));
  return true;
}

void ScanPrinter::hold(Operation *op, kb::OperandAttr operand, bool isStore, bool isOfTerm) {
  if (operand.getKind() != kb::OperandKind::Element)
    return;
  StringRef dim = scan.grows.contains(op->getParentOp()) ? scan.termDim : scan.dim;
  std::string key = elementKey(text, operand, dim);
  for (HeldElements &each : held)
    if (each.key == key) {
      each.loads |= !isStore && !each.stores;
      each.stores |= isStore;
      each.isOfTerm |= isOfTerm;
      return;
    }
  bool falls = isFalling(operand, dim);
  if (!falls && !isVector(text, operand, *op->getBlock(), dim, width, &needs))
    return;
  held.push_back({key, arrayName(text, operand), operand, dim, !isStore, isStore, falls, isOfTerm});
}

std::string ScanPrinter::findHeld() {
  if (width == 1 || scan.guard) // a vector may hold elements that are left out
    return "";
  auto look = [&](Operation *op, bool isOfTerm) {
    for (kb::OperandAttr load : loadsOf(op))
      if (!isReadUnderCondition(op, load))
        hold(op, load, false, isOfTerm);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      hold(op, store.getTarget(), true, false);
  };
  for (Operation *op : scan.body) {
    if (auto over = dyn_cast<kb::OverOp>(op)) {
      if (!scan.isExclusiveSum) // which has no term for the last element
        for (Operation &inner : over.getBody().front())
          look(&inner, true);
    } else {
      look(op, scan.needed.contains(op));
    }
  }
  return "";
}

void ScanPrinter::nameThings() {
  lanes = text.freshName("lanes"), widthName = text.freshName("width"),
  rowsName = text.freshName("rows"), tile = text.freshName("tile"),
  first = width > 1 ? text.freshName("first") : scan.dim.str(), element = text.freshName("e"),
  row = text.freshName("row"), tiles = text.freshName("tiles");
  extent = text.intExpression(scan.extent);
  for (const CarriedValue &each : scan.carried) {
    std::string word = scan.carried.size() > 1 ? "Of" + each.name : "";
    values.push_back({text.freshName("own" + word), text.freshName("upTo" + word)});
  }
}
