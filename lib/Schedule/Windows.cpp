//===- Windows.cpp - Sums over a window of an array -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Windows.h"
#include "Accesses.h"
#include "Bounds.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// A step of \p dim and one of \p loop, in what \p expr gains; null where it does not depend on
/// both.
std::pair<AffineExpr, AffineExpr> gainsOf(kb::NestOp nest, kb::ExprAttr expr, StringRef dim,
                                          StringRef loop) {
  if (!dependsOn(expr, dim) || !dependsOn(expr, loop))
    return {};
  SmallVector<StringAttr> symbols;
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    symbols.push_back(StringAttr::get(expr.getContext(), symbol.getName()));
  expr = inSpace(expr, expr.getLoops(), symbols);
  kb::ExprAttr along = gainAlong(expr, dim), inner = gainAlong(expr, loop);
  if (!along || !inner)
    return {};
  return {along.getExpr(), inner.getExpr()};
}

/// Whether a condition around \p op bounds a place whose steps are as far apart as \p along and
/// \p inner.
bool isBounded(kb::NestOp nest, Operation *op, StringRef dim, StringRef loop, AffineExpr along,
               AffineExpr inner) {
  for (auto when = op->getParentOfType<kb::WhenOp>(); when;
       when = when->getParentOfType<kb::WhenOp>()) {
    std::optional<kb::DomainAttr> domain = when.getDomain();
    for (unsigned i = 0; domain && i < domain->getSet().getNumConstraints(); ++i) {
      auto map = AffineMap::get(domain->getSet().getNumDims(), domain->getSet().getNumSymbols(),
                                domain->getSet().getConstraint(i));
      auto bound =
          kb::ExprAttr::get(op->getContext(), domain->getLoops(), domain->getSymbols(), map);
      auto [boundAlong, boundInner] = gainsOf(nest, bound, dim, loop);
      if (boundAlong && areEqual(along * boundInner, inner * boundAlong))
        return true;
    }
  }
  return false;
}

/// \p place as if nothing was divided and nothing left as a rest: how the element moves on over
/// many points.
kb::ExprAttr withoutDivisions(kb::ExprAttr place) {
  std::function<AffineExpr(AffineExpr)> change = [&](AffineExpr expr) -> AffineExpr {
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary || expr.isSymbolicOrConstant())
      return expr;
    if (expr.getKind() == AffineExprKind::Mod)
      return getAffineConstantExpr(0, expr.getContext());
    if (expr.getKind() == AffineExprKind::FloorDiv)
      return change(binary.getLHS());
    return getAffineBinaryOpExpr(expr.getKind(), change(binary.getLHS()), change(binary.getRHS()));
  };
  return withExpr(place, change(place.getExpr()));
}

/// Whether few steps of \p over lie between two steps of \p dim in \p place.
bool slides(kb::NestOp nest, kb::ExprAttr place, kb::OverOp over, StringRef dim) {
  constexpr int64_t mostBetween = 8;
  auto [along, inner] = gainsOf(nest, place, dim, over.getName());
  auto length = over.getExtent().getConstant();
  for (int64_t steps = 1; steps <= mostBetween && steps < length.value_or(mostBetween + 1); ++steps)
    if (along && (areEqual(along, inner * steps) || areEqual(along, inner * -steps)))
      return true;
  return false;
}

/// Whether \p count steps of \p small are at most one of \p large.
bool covers(kb::NestOp nest, AffineExpr large, AffineExpr small, kb::ExprAttr count) {
  SmallVector<StringAttr> symbols;
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    symbols.push_back(StringAttr::get(nest.getContext(), symbol.getName()));
  count = inSpace(count, count.getLoops(), symbols);
  if (areEqual(large, small * count.getExpr()))
    return true;
  auto constant = count.getConstant();
  auto one = dyn_cast<AffineConstantExpr>(small), other = dyn_cast<AffineConstantExpr>(large);
  return constant && one && other &&
         std::abs(other.getValue()) >= std::abs(one.getValue()) * *constant;
}

/// Whether no two points along \p dim share a place, of which a step of \p dim moves on by \p along
/// and one of \p over by \p inner: each point has a row of its own, or every so many-th element.
bool isApart(kb::NestOp nest, kb::OverOp over, StringRef dim, AffineExpr along, AffineExpr inner) {
  for (auto [name, extent] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                       nest.getExtents().getAsRange<kb::ExprAttr>()))
    if (name.getValue() == dim && covers(nest, inner, along, extent))
      return true;
  return covers(nest, along, inner, over.getExtent());
}

/// The places from which variables in \p place are computed: `(i + pad - k) / stride`.
SmallVector<kb::ExprAttr> sourcesOf(kb::NestOp nest, kb::ExprAttr place) {
  SmallVector<kb::ExprAttr> sources;
  nest.walk([&](kb::LetOp let) {
    for (auto [index, symbol] : llvm::enumerate(place.getSymbols()))
      if (symbol.getValue() == let.getName() &&
          place.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
        for (auto operand : operandsOf(let).getAsRange<kb::OperandAttr>())
          if (operand.getKind() == kb::OperandKind::Index)
            sources.push_back(operand.getOffset());
  });
  return sources;
}

/// Whether neighbours along \p dim share terms of \p load, which \p op sums over \p over.
bool isShared(kb::NestOp nest, Operation *op, kb::OperandAttr load, kb::OverOp over,
              StringRef dim) {
  if (slides(nest, load.getOffset(), over, dim))
    return true;
  SmallVector<kb::ExprAttr> sources = sourcesOf(nest, load.getOffset());
  sources.push_back(withoutDivisions(load.getOffset())); // of a transposed convolution
  for (kb::ExprAttr source : sources)
    if (slides(nest, source, over, dim))
      return true;
  auto [along, inner] = gainsOf(nest, load.getOffset(), dim, over.getName());
  return along && !isApart(nest, over, dim, along, inner) &&
         isBounded(nest, op, dim, over.getName(), along, inner);
}

/// Whether \p along is so many steps of \p inner as a size of \p nest says, or a small number.
bool isStride(kb::NestOp nest, AffineExpr along, AffineExpr inner) {
  constexpr int64_t most = 8;
  for (int64_t steps = 1; steps <= most; ++steps)
    if (areEqual(along, inner * steps))
      return true;
  for (unsigned i = 0; i < nest.getSymbols().size(); ++i)
    if (areEqual(along, inner * getAffineSymbolExpr(kb::firstNamedSymbol + i, nest.getContext())))
      return true;
  return false;
}

/// The dimensions whose points have windows along \p over of their own in \p place, side by side or
/// apart.
SmallVector<StringRef> stridesOf(kb::NestOp nest, kb::ExprAttr place, kb::OverOp over) {
  SmallVector<StringRef> dims;
  for (auto dim : nest.getDims().getAsRange<StringAttr>()) {
    auto [along, inner] = gainsOf(nest, place, dim.getValue(), over.getName());
    bool isRow = along && over.getExtent().getConstant().value_or(0) == 0 &&
                 covers(nest, along, inner, over.getExtent());
    if (along && !isRow && isStride(nest, along, inner))
      dims.push_back(dim.getValue());
  }
  return dims;
}

/// Calls \p look for each load in a reduction, with the loops around it.
void forEachTerm(
    kb::NestOp nest,
    llvm::function_ref<void(Operation *, kb::OperandAttr, ArrayRef<kb::OverOp>)> look) {
  nest.walk([&](Operation *op) {
    SmallVector<kb::OverOp> loops;
    for (auto over = op->getParentOfType<kb::OverOp>(); over;
         over = over->getParentOfType<kb::OverOp>())
      if (over.getOrder() == kb::LoopOrder::Reduction)
        loops.push_back(over);
    for (kb::OperandAttr load : loadsOf(op))
      if (!loops.empty())
        look(op, load, loops);
  });
}

} // namespace

int64_t kbopt::slidingSteps(kb::NestOp nest, kb::ExprAttr place, kb::OverOp over, StringRef dim) {
  auto [along, inner] = gainsOf(nest, place, dim, over.getName());
  auto length = over.getExtent().getConstant();
  for (int64_t steps = 1; along && length && steps < *length; ++steps)
    if (areEqual(along, inner * steps))
      return steps;
  return 0;
}

bool kbopt::sharesWindows(kb::NestOp nest, StringRef dim) {
  bool found = false;
  forEachTerm(nest, [&](Operation *op, kb::OperandAttr load, ArrayRef<kb::OverOp> loops) {
    for (kb::OverOp over : loops)
      found = found || isShared(nest, op, load, over, dim);
  });
  return found;
}

bool kbopt::sumsWindows(kb::NestOp nest) {
  return llvm::any_of(nest.getDims().getAsRange<StringAttr>(),
                      [&](StringAttr dim) { return sharesWindows(nest, dim.getValue()); });
}

bool kbopt::tilesWindows(kb::NestOp nest) {
  bool found = false;
  forEachTerm(nest, [&](Operation *, kb::OperandAttr load, ArrayRef<kb::OverOp> loops) {
    for (kb::OverOp first : loops)
      for (kb::OverOp second : loops)
        for (StringRef a : first == second || found ? SmallVector<StringRef>()
                                                    : stridesOf(nest, load.getOffset(), first))
          for (StringRef b : stridesOf(nest, load.getOffset(), second))
            found |= a != b;
  });
  return found;
}
