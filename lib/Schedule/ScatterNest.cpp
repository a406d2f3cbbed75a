//===- ScatterNest.cpp - A nest that combines by atomics --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScatterNest.h"
#include "Accesses.h"

using namespace kbopt;
using namespace mlir;

std::string Scatter::name() const { return store.getTarget().getBase().getName().str(); }

int64_t Scatter::bytes() const { return store.getTarget().getBytes(); }

std::string Scatter::reduceName() const {
  return operation == "Sub" ? "add" : StringRef(operation).lower();
}

std::string Scatter::combined(StringRef a, StringRef b) const {
  if (operation == "Max" || operation == "Min")
    return StringRef(operation).lower() + "(" + a.str() + ", " + b.str() + ")";
  StringRef sign = operation == "And"   ? " & "
                   : operation == "Or"  ? " | "
                   : operation == "Xor" ? " ^ "
                                        : " + ";
  return (a + sign + b).str();
}

bool Scatter::uses(StringRef dim) const { return dependsOn(store.getTarget().getOffset(), dim); }

namespace {

/// Values of \p expr, which is never negative, are below this; nothing if constants do not show it.
std::optional<int64_t> boundOf(AffineExpr expr,
                               llvm::function_ref<std::optional<int64_t>(AffineExpr)> leaf) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0 ? std::optional(constant.getValue() + 1) : std::nullopt;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return leaf(expr);
  auto left = boundOf(binary.getLHS(), leaf), right = boundOf(binary.getRHS(), leaf);
  if (!left || !right || *left > INT32_MAX || *right > INT32_MAX)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *left + *right - 1;
  case AffineExprKind::Mul:
    return (*left - 1) * (*right - 1) + 1;
  case AffineExprKind::Mod:
    return *right - 1;
  default:
    return *left;
  }
}

/// The number of values from 0 on that scalar \p let may have, as far as its text shows.
std::optional<int64_t> valuesOf(kb::LetOp let) {
  StringRef type = let.getType(), text = let.getText();
  type.consume_front("const ");
  bool isByte = type == "unsigned char" || type == "uint8_t" || type == "uchar";
  auto [before, mask] = text.rsplit(" & ");
  int64_t number = 0;
  bool isLast = !before.contains('|') && !before.contains('^') && !before.contains('?') &&
                !before.contains("&&") && before.count('(') == before.count(')');
  if (!mask.empty() && isLast && !mask.trim("uU").getAsInteger(0, number) && number >= 0)
    return number + 1;
  auto loads = operandsOf(let).getAsRange<kb::OperandAttr>();
  bool isUnsigned = !operandsOf(let).empty() && llvm::all_of(loads, [](kb::OperandAttr operand) {
    return StringRef(operand.getType()).starts_with("unsigned") && operand.getBytes() >= 4;
  });
  auto [dividend, divisor] = text.rsplit(" % ");
  if (isUnsigned && dividend == "$0" && !divisor.trim("uU").getAsInteger(0, number) && number > 0)
    return number;
  bool isLoadOfByte =
      text == "$0" && !operandsOf(let).empty() && llvm::all_of(loads, [](kb::OperandAttr operand) {
        return operand.getType() == "unsigned char" || operand.getType() == "uint8_t";
      });
  return isByte || isLoadOfByte ? std::optional<int64_t>(256) : std::nullopt;
}

std::optional<int64_t> boundOf(kb::NestOp nest, kb::ExprAttr offset) {
  return boundOf(offset.getExpr(), [&](AffineExpr leaf) -> std::optional<int64_t> {
    if (auto dim = dyn_cast<AffineDimExpr>(leaf)) {
      StringRef name = kb::dimName(dim.getPosition(), offset.getLoops());
      for (auto [each, extent] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                           nest.getExtents().getAsRange<kb::ExprAttr>()))
        if (each.getValue() == name)
          return extent.getConstant();
      return std::nullopt;
    }
    StringRef name =
        kb::symbolName(cast<AffineSymbolExpr>(leaf).getPosition(), offset.getSymbols());
    std::optional<int64_t> values;
    unsigned assignments = 0;
    nest.walk([&](kb::LetOp let) {
      if (let.getName() != name)
        return;
      ++assignments;
      values = valuesOf(let);
    });
    return assignments == 1 ? values : std::nullopt;
  });
}

bool dependsOnPoint(kb::NestOp nest, kb::ExprAttr offset) {
  bool depends = usesNameOf(offset, nest.getBody().front());
  for (StringAttr dim : offset.getLoops())
    depends |= dependsOn(offset, dim);
  return depends;
}

} // namespace

ScatterNest::ScatterNest(kb::NestOp nest) : box(nest), nest(nest) {
  llvm::StringMap<unsigned> uses;
  nest.walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      ++uses[load.getBase().getName()];
    if (auto store = dyn_cast<kb::StoreOp>(op))
      ++uses[store.getTarget().getBase().getName()];
    if (isa<kb::OverOp>(op))
      reason = "its points run loops";
  });
  nest.walk([&](kb::StoreOp store) {
    if (!store.getAtomic())
      return;
    kb::OperandAttr target = store.getTarget();
    StringRef operation = *store.getAtomic(), type = target.getType();
    std::string name = "'" + target.getBase().getName().str() + "'";
    bool isKnown = operation.consume_front("atomic") &&
                   llvm::is_contained({"Add", "Sub", "Max", "Min", "And", "Or", "Xor"}, operation);
    bool isNumber =
        llvm::is_contained({"int", "unsigned int", "unsigned long long", "float", "double"}, type);
    if (!isKnown)
      reason = "it does " + store.getAtomic()->str() + ", whose order matters";
    else if (!isNumber)
      reason = "elements of the type '" + type.str() + "' are not combined";
    else if (uses[target.getBase().getName()] > 1)
      reason = "it uses " + name + " for more than one atomic";
    Scatter each{store, type.str(), operation.str(), false, false, {}};
    each.isFixed = !dependsOnPoint(nest, target.getOffset());
    each.isNamedByData = usesNameOf(target.getOffset(), nest.getBody().front());
    each.bound = boundOf(nest, target.getOffset());
    all.push_back(each);
  });
  if (all.empty())
    reason = "its points do not combine by atomics";
}

std::string ScatterNest::whyNot() const {
  if (!reason.empty())
    return reason;
  if (std::string why = whyNoBox(nest); !why.empty())
    return why;
  if (kb::NestOp(nest).getDomain())
    return "its points are not a box";
  return box.size() ? "" : "it has a single point";
}

size_t ScatterNest::lanes(StringRef along) const {
  auto neighbours = [&](StringRef dim) {
    int64_t count = 0;
    auto look = [&](kb::OperandAttr operand) {
      count += strideAlong(operand.getOffset(), dim) == 1;
    };
    kb::NestOp(nest).walk([&](Operation *op) {
      for (kb::OperandAttr load : loadsOf(op))
        look(load);
      if (auto store = dyn_cast<kb::StoreOp>(op))
        look(store.getTarget());
    });
    return count;
  };
  size_t best = box.size();
  for (size_t i = 0; i < box.size(); ++i)
    if (box.names[i] != along &&
        (best == box.size() || neighbours(box.names[i]) >= neighbours(box.names[best])))
      best = i;
  return best == box.size() ? 0 : best;
}

SmallVector<StringRef> ScatterNest::walks() const {
  SmallVector<StringRef> dims;
  if (box.size() < 2)
    return dims;
  StringRef last = box.names[lanes("")];
  for (StringRef dim : box.names)
    if (dim != last && llvm::none_of(all, [&](const Scatter &each) { return each.uses(dim); }))
      dims.push_back(dim);
  return dims;
}

std::optional<int64_t> ScatterNest::bound() const {
  int64_t most = 0;
  for (const Scatter &each : all) {
    if (!each.bound)
      return std::nullopt;
    most = std::max(most, *each.bound);
  }
  return most;
}

kb::ExprAttr ScatterNest::chunks(kb::ExprAttr extent, int64_t count) {
  AffineExpr expr = (extent.getExpr() + (count - 1)).floorDiv(count);
  unsigned dims = extent.getMap().getNumDims(), symbols = extent.getMap().getNumSymbols();
  auto map = AffineMap::get(dims, symbols, simplifyAffineExpr(expr, dims, symbols));
  return kb::ExprAttr::get(extent.getContext(), extent.getLoops(), extent.getSymbols(), map);
}
