//===- Points.cpp - The points of a nest as a box ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Points.h"
#include "Accesses.h"
#include "RowsNest.h"

using namespace kbopt;
using namespace mlir;

std::string kbopt::whyNoBox(kb::NestOp nest) {
  CudaText text(nest);
  if (!text.kernel())
    return "the kernel is not in the program";
  for (auto [dim, extent] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                      nest.getExtents().getAsRange<kb::ExprAttr>())) {
    for (StringAttr other : extent.getLoops())
      if (dependsOn(extent, other))
        return "the extent of '" + dim.getValue().str() + "' depends on '" +
               other.getValue().str() + "'";
    if (text.hostExpression(extent).empty())
      return "the host does not know the extent of '" + dim.getValue().str() + "'";
  }
  std::string reason;
  nest.walk([&](Operation *op) {
    auto look = [&](kb::OperandAttr operand) {
      kb::BaseKind kind = operand.getBase().getKind();
      if (operand.getKind() == kb::OperandKind::Element && kind != kb::BaseKind::Argument &&
          kind != kb::BaseKind::Global)
        reason = operand.getBase().getName().empty()
                     ? "it uses memory that is not one of its parameters"
                     : "'" + operand.getBase().getName().str() + "' is not a parameter";
    };
    for (kb::OperandAttr load : loadsOf(op))
      look(load);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      look(store.getTarget());
  });
  return reason;
}

static std::string factor(const std::string &size) {
  return CudaText::isAtom(size) ? size : "(" + size + ")";
}

Box::Box(kb::NestOp nest) {
  for (auto [dim, extent] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                      nest.getExtents().getAsRange<kb::ExprAttr>())) {
    names.push_back(dim.getValue());
    extents.push_back(extent);
  }
}

std::string Box::total(CudaText &text) const {
  if (size() == 1)
    return text.expression(extents.front());
  std::string product;
  for (kb::ExprAttr extent : extents)
    product += (product.empty() ? "" : " * ") + factor(text.expression(extent));
  return product.empty() ? "1" : product;
}

void Box::requirePoints(CudaText &text, Needs &needs) const {
  for (kb::ExprAttr extent : extents)
    if (!extent.getConstant())
      needs.expression(text.hostExpression(extent) + " > 0");
}

std::string Box::count(CudaText &text, Needs &needs) const {
  requirePoints(text, needs);
  std::string count, wide;
  bool isConstant = true;
  for (kb::ExprAttr extent : extents) {
    std::string size = text.hostExpression(extent);
    isConstant &= extent.getConstant().has_value();
    count += (count.empty() ? "" : " * ") + (extents.size() == 1 ? size : factor(size));
    wide += (wide.empty() ? "(size_t)" : " * ") + factor(size);
  }
  if (extents.size() > 1 && !isConstant)
    needs.expression(wide + " <= 0x7fff0000"); // a grid rounds them up
  return count.empty() ? "1" : count;
}

void Box::declare(CudaText &text, CodeLines &code, StringRef flat, StringRef last,
                  llvm::function_ref<bool(StringRef)> isUsed) const {
  std::string inner; // the points that share the dimensions so far
  unsigned factors = 0;
  for (size_t i = size(); i-- > 0;) {
    std::string size = factor(text.expression(extents[i]));
    std::string value = flat.str();
    if (factors > 0)
      value += " / " + (factors > 1 ? "(" + inner + ")" : inner);
    if (i > 0)
      value += " % " + size;
    StringRef name = i + 1 == names.size() ? last : names[i];
    if (name != flat && isUsed(name))
      code.line("const int " + name + " = " + value + ";");
    inner = factors == 0 ? size : size + " * " + inner;
    ++factors;
  }
}

/// Whether \p expr, computed in `int`, may be more than the sizes that the kernel has in `int`
/// suggest.
static bool mayExceedInt(kb::NestOp nest, kb::ExprAttr expr) {
  for (unsigned i = kb::bdimSymbol; i < kb::firstNamedSymbol; ++i)
    if (expr.getExpr().isFunctionOfSymbol(i))
      return true;
  for (auto [index, name] : llvm::enumerate(expr.getSymbols())) {
    if (!expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
      continue;
    for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      if (symbol.getName() == name.getValue() && (symbol.getBits() > 32 || !symbol.getIsSigned()))
        return true;
  }
  return false;
}

std::string kbopt::requireInts(CudaText &text, Needs &needs) {
  kb::NestOp nest = text.nest();
  std::string reason;
  auto require = [&](kb::ExprAttr extent, StringRef name) {
    if (!mayExceedInt(nest, extent))
      return;
    kb::ExprAttr largest = largestExtent(nest, extent);
    std::string host = largest ? text.hostExpression(largest, /*wide=*/true) : "";
    if (host.empty())
      reason = "the iterations of '" + name.str() + "' may be more than an int counts";
    else
      needs.expression(host + " <= 0x7fffffff");
  };
  for (auto [dim, extent] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                      nest.getExtents().getAsRange<kb::ExprAttr>()))
    require(extent, dim.getValue());
  nest.walk([&](kb::OverOp over) {
    if (!over.isUnbounded())
      require(over.getExtent(), over.getName());
  });
  return reason;
}

bool kbopt::mentions(StringRef code, StringRef word) { return timesMentioned(code, word) > 0; }

unsigned kbopt::timesMentioned(StringRef code, StringRef word) {
  unsigned times = 0;
  collectIdentifiers(code, [&](StringRef each) { times += each == word; });
  return times;
}
