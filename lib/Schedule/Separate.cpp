//===- Separate.cpp - Which arrays may be one -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Separate.h"
#include "Accesses.h"
#include <set>

using namespace kbopt;
using namespace mlir;

/// Whether every access to \p base is one element of a point, the same as that of \p other.
static bool isSameElement(kb::NestOp nest, kb::BaseAttr base, kb::BaseAttr other) {
  CudaText text(nest);
  std::set<std::string> offsets;
  forEachAccess(nest, [&](kb::OperandAttr operand, bool) {
    if (operand.getBase() == base || operand.getBase() == other)
      offsets.insert(text.expression(operand.getOffset()) + " * " +
                     std::to_string(operand.getBytes()));
  });
  return offsets.size() == 1;
}

/// Whether each point is a thread of the raised launch, which covers all of them: then memory that
/// two parameters share would be a race between threads there, and only the order within a point
/// matters.
static bool pointsAreThreads(kb::NestOp nest) {
  bool hasLoops = false;
  nest.walk([&](kb::OverOp) { hasLoops = true; });
  if (hasLoops)
    return false;
  // Symbols of the requirements that more blocks help to meet: `bdim.x * gdim.x - n`.
  std::set<StringRef> covered;
  auto usesGrid = [](kb::ExprAttr expr) {
    return llvm::any_of(llvm::seq(0u, 3u), [&](unsigned axis) {
      return expr.getExpr().isFunctionOfSymbol(kb::gdimSymbol + axis);
    });
  };
  auto symbolsOf = [](kb::ExprAttr expr) {
    SmallVector<StringRef> names;
    for (auto [index, name] : llvm::enumerate(expr.getSymbols()))
      if (expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
        names.push_back(name.getValue());
    return names;
  };
  auto requirements =
      nest.getRequirements() ? *nest.getRequirements() : ArrayAttr::get(nest.getContext(), {});
  for (auto each : requirements.getAsRange<kb::ExprAttr>()) {
    AffineExpr first = each.getExpr();
    SmallVector<AffineExpr> symbols;
    for (unsigned i = 0; i < each.getMap().getNumSymbols(); ++i)
      symbols.push_back(
          i < kb::firstNamedSymbol
              ? getAffineConstantExpr(i < kb::gdimSymbol ? 1 : 1000, nest.getContext())
              : getAffineConstantExpr(10, nest.getContext()));
    auto many = dyn_cast<AffineConstantExpr>(first.replaceSymbols(symbols));
    for (unsigned i = kb::gdimSymbol; i < kb::firstNamedSymbol; ++i)
      symbols[i] = getAffineConstantExpr(1, nest.getContext());
    auto few = dyn_cast<AffineConstantExpr>(first.replaceSymbols(symbols));
    if (usesGrid(each) && many && few && many.getValue() > few.getValue())
      for (StringRef name : symbolsOf(each))
        covered.insert(name);
  }
  return llvm::all_of(nest.getExtents().getAsRange<kb::ExprAttr>(), [&](kb::ExprAttr extent) {
    SmallVector<StringRef> names = symbolsOf(extent);
    return usesGrid(extent) || (!names.empty() && llvm::all_of(names, [&](StringRef name) {
             return covered.count(name);
           }));
  });
}

llvm::StringSet<> kbopt::separateParameters(CudaText &text, Needs &needs) {
  kb::NestOp nest = text.nest();
  if (pointsAreThreads(nest))
    return {};
  Needs all;
  llvm::StringSet<> separate = keepApart(text, all);
  llvm::StringMap<kb::BaseAttr> bases;
  forEachAccess(nest, [&](kb::OperandAttr operand, bool) {
    bases[operand.getBase().getName()] = operand.getBase();
  });
  for (const LaunchCondition &condition : all.conditions) {
    if (!isSameElement(nest, bases[condition.text], bases[condition.other])) {
      needs.disjoint(bases[condition.text], bases[condition.other]);
    } else if (!llvm::is_contained(needs.conditions, condition)) {
      separate.erase(condition.text);
      separate.erase(condition.other);
    }
  }
  return separate;
}
