//===- NestSpace.cpp - Expressions of a nest in another place ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NestSpace.h"

using namespace mlir;

namespace kbopt::raise {

NestSpace::NestSpace(kb::NestOp nest) : context(nest.getContext()) {
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    symbols.push_back(StringAttr::get(context, symbol.getName()));
}

AffineExpr NestSpace::wide(AffineExpr expr, Dims loops, Dims names, Dims dims,
                           const Values &values) const {
  SmallVector<AffineExpr> newDims, newSymbols;
  for (unsigned i = 0; i < kb::firstLoopDim + loops.size(); ++i) {
    AffineExpr dim = getAffineConstantExpr(0, context); // no nest uses tid or bid
    if (i >= kb::firstLoopDim && expr.isFunctionOfDim(i)) {
      StringAttr name = loops[i - kb::firstLoopDim];
      auto value = values.find(name.getValue());
      auto *at = llvm::find(dims, name);
      if (value == values.end() && at == dims.end())
        return {};
      dim = value != values.end()
                ? value->second
                : getAffineDimExpr(kb::firstLoopDim + (at - dims.begin()), context);
    }
    newDims.push_back(dim);
  }
  for (unsigned i = 0; i < kb::firstNamedSymbol; ++i)
    newSymbols.push_back(getAffineSymbolExpr(i, context));
  for (StringAttr name : names) {
    auto *at = llvm::find(symbols, name);
    newSymbols.push_back(
        getAffineSymbolExpr(kb::firstNamedSymbol + (at - symbols.begin()), context));
  }
  return expr.replaceDimsAndSymbols(newDims, newSymbols);
}

AffineExpr NestSpace::wide(kb::ExprAttr expr, Dims dims, const Values &values) const {
  return wide(expr.getExpr(), expr.getLoops(), expr.getSymbols(), dims, values);
}

SmallVector<unsigned> NestSpace::usedSymbols(ArrayRef<AffineExpr> exprs) const {
  SmallVector<unsigned> used;
  for (unsigned i = 0; i < symbols.size(); ++i)
    if (llvm::any_of(exprs, [&](AffineExpr each) {
          return each.isFunctionOfSymbol(kb::firstNamedSymbol + i);
        }))
      used.push_back(i);
  return used;
}

SmallVector<AffineExpr> NestSpace::renumbering(ArrayRef<unsigned> used) const {
  SmallVector<AffineExpr> result;
  for (unsigned i = 0; i < kb::firstNamedSymbol; ++i)
    result.push_back(getAffineSymbolExpr(i, context));
  for (unsigned i = 0; i < symbols.size(); ++i)
    result.push_back(
        getAffineSymbolExpr(kb::firstNamedSymbol + (llvm::find(used, i) - used.begin()), context));
  return result;
}

kb::ExprAttr NestSpace::expression(AffineExpr expr, Dims dims) const {
  SmallVector<unsigned> used = usedSymbols(expr);
  SmallVector<StringAttr> names;
  for (unsigned each : used)
    names.push_back(symbols[each]);
  auto map = AffineMap::get(kb::firstLoopDim + dims.size(), kb::firstNamedSymbol + names.size(),
                            expr.replaceSymbols(renumbering(used)));
  return kb::ExprAttr::get(context, dims, names, map);
}

kb::DomainAttr NestSpace::domain(ArrayRef<AffineExpr> constraints, ArrayRef<bool> isEquality,
                                 Dims dims) const {
  SmallVector<unsigned> used = usedSymbols(constraints);
  SmallVector<StringAttr> names;
  for (unsigned each : used)
    names.push_back(symbols[each]);
  SmallVector<AffineExpr> narrow;
  for (AffineExpr each : constraints)
    narrow.push_back(each.replaceSymbols(renumbering(used)));
  auto set = IntegerSet::get(kb::firstLoopDim + dims.size(), kb::firstNamedSymbol + names.size(),
                             narrow, isEquality);
  return kb::DomainAttr::get(context, dims, names, set, /*exact=*/true);
}

kb::ExprAttr NestSpace::moved(kb::ExprAttr expr, Dims dims, const Values &values) const {
  AffineExpr result = wide(expr, dims, values);
  return result ? expression(result, dims) : kb::ExprAttr();
}

kb::OperandAttr NestSpace::moved(kb::OperandAttr operand, Dims dims, const Values &values) const {
  kb::ExprAttr offset = moved(operand.getOffset(), dims, values);
  SmallVector<kb::ExprAttr> indices, strides;
  for (kb::ExprAttr each : operand.getIndices())
    indices.push_back(moved(each, dims, values));
  for (kb::ExprAttr each : operand.getStrides())
    strides.push_back(moved(each, dims, values));
  if (!offset || llvm::is_contained(indices, kb::ExprAttr()) ||
      llvm::is_contained(strides, kb::ExprAttr()))
    return {};
  return kb::OperandAttr::get(context, operand.getKind(), operand.getBase(), operand.getType(),
                              operand.getBytes(), offset, indices, strides);
}

kb::DomainAttr NestSpace::moved(kb::DomainAttr domain, Dims dims, const Values &values) const {
  if (domain.isUnknown())
    return kb::DomainAttr::unknown(context, dims, {});
  SmallVector<AffineExpr> constraints;
  for (AffineExpr each : domain.getSet().getConstraints()) {
    constraints.push_back(wide(each, domain.getLoops(), domain.getSymbols(), dims, values));
    if (!constraints.back())
      return {};
  }
  kb::DomainAttr result = this->domain(constraints, domain.getSet().getEqFlags(), dims);
  return kb::DomainAttr::get(context, result.getLoops(), result.getSymbols(), result.getSet(),
                             domain.getExact());
}

void NestSpace::move(Operation *op, const Values &values) const {
  SmallVector<StringAttr> dims = kb::nestDims(op);
  if (auto operands = op->getAttrOfType<ArrayAttr>("operands")) {
    SmallVector<Attribute> all;
    for (auto each : operands.getAsRange<kb::OperandAttr>())
      all.push_back(moved(each, dims, values));
    op->setAttr("operands", ArrayAttr::get(op->getContext(), all));
  }
  if (auto store = dyn_cast<kb::StoreOp>(op))
    store.setTargetAttr(moved(store.getTarget(), dims, values));
  if (auto over = dyn_cast<kb::OverOp>(op))
    over.setExtentAttr(moved(over.getExtent(), dims, values));
  if (auto when = dyn_cast<kb::WhenOp>(op); when && when.getDomainAttr())
    when.setDomainAttr(moved(when.getDomainAttr(), dims, values));
}

void moveToDimensionsAround(Operation *root, const llvm::StringMap<std::string> &renamed) {
  auto nest = dyn_cast<kb::NestOp>(root);
  NestSpace space(nest ? nest : root->getParentOfType<kb::NestOp>());
  root->walk([&](Operation *op) {
    if (isa<kb::NestOp>(op))
      return;
    SmallVector<StringAttr> dims = kb::nestDims(op);
    NestSpace::Values values;
    for (const auto &[before, now] : renamed)
      for (auto [i, dim] : llvm::enumerate(dims))
        if (dim.getValue() == now)
          values[before] = getAffineDimExpr(kb::firstLoopDim + i, op->getContext());
    space.move(op, values);
  });
}

} // namespace kbopt::raise
