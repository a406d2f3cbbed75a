//===- ContractionForm.cpp - Which nests are contractions --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Bounds.h"
#include "Contraction.h"
#include "ContractionSum.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using namespace mlir;

bool Contraction::isSum(StringRef name) const {
  return llvm::any_of(sums, [&](const auto &sum) { return sum.first == name; });
}

const ContractionTile *Contraction::tileOf(kb::OperandAttr operand) const {
  for (const ContractionTile &tile : tiles)
    if (tile.operand == operand)
      return &tile;
  return nullptr;
}

bool kbopt::mentions(Operation *op, StringRef name) {
  bool found = false;
  auto look = [&](StringRef text) {
    collectIdentifiers(text, [&](StringRef word) { found |= word == name; });
  };
  auto lookIn = [&](kb::OperandAttr operand) {
    for (auto [index, symbol] : llvm::enumerate(operand.getOffset().getSymbols()))
      found |= symbol.getValue() == name &&
               operand.getOffset().getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index);
    look(operand.getBase().getName());
  };
  op->walk([&](Operation *each) {
    if (auto text = each->getAttrOfType<StringAttr>("text"))
      look(text.getValue());
    if (auto let = dyn_cast<kb::LetOp>(each))
      found |= let.getReassigns() && let.getName() == name;
    for (auto operand : operandsOf(each).getAsRange<kb::OperandAttr>())
      lookIn(operand);
    if (auto store = dyn_cast<kb::StoreOp>(each))
      lookIn(store.getTarget());
  });
  return found;
}

namespace {

class Finder {
public:
  Finder(kb::NestOp nest, Contraction &to, bool isPlain)
      : nest(nest), to(to), isPlain(isPlain), parallel(sum.parallel) {
    to.nest = nest;
    to.asGiven = isPlain;
  }

  std::string find() {
    std::string reason = findSum(nest, to, sum);
    to.point = sum.body;
    for (auto step : {&Finder::findDims, &Finder::findConditions, &Finder::sortPrologue,
                      &Finder::findTiles, &Finder::findGuards})
      if (reason = reason.empty() ? (this->*step)() : reason; !reason.empty())
        return reason;
    return "";
  }

private:
  kb::NestOp nest;
  Contraction &to;
  bool isPlain;
  SumOfNest sum;
  std::vector<NestDim> &parallel;

  /// Empty if \p row and \p column are reused by the term's operands.
  std::string whyNoReuse(StringRef row, StringRef column) {
    bool hasRows = false, hasColumns = false;
    for (Operation *op : to.term)
      for (kb::OperandAttr load : loadsOf(op)) {
        bool isRow = dependsOn(load.getOffset(), row),
             isColumn = dependsOn(load.getOffset(), column);
        if (isRow && isColumn)
          return (load.getBase().getName() + " varies with both " + row + " and " + column).str();
        hasRows |= isRow;
        hasColumns |= isColumn;
      }
    return hasRows && hasColumns
               ? ""
               : ("no element is used for several " + (hasRows ? column : row)).str();
  }

  int score(const NestDim &row, const NestDim &column) {
    int score = 0;
    for (Operation *op : to.after)
      op->walk([&](kb::StoreOp store) {
        score += strideAlong(store.getTarget().getOffset(), column.name) == 1 ? 8 : 0;
        score -= strideAlong(store.getTarget().getOffset(), row.name) == 1 ? 4 : 0;
      });
    for (const NestDim &dim : {row, column})
      if (auto extent = dim.extent.getConstant(); extent && *extent < 32)
        score -= *extent < 8 ? 6 : 3;
    return score;
  }

  std::string findDims() {
    if (parallel.size() < 2)
      return "each point is a single sum: there is no second dimension that uses its elements "
             "again";
    std::string reason;
    std::optional<std::pair<size_t, size_t>> best;
    // Inner dimensions first: outer ones are usually batches.
    for (size_t row = parallel.size(); row-- > 0;)
      for (size_t column = parallel.size(); column-- > 0;) {
        if (row == column || isPhase(parallel[row], to.term) || isPhase(parallel[column], to.term))
          continue;
        std::string why = whyNoReuse(parallel[row].name, parallel[column].name);
        if (why.empty() && (!best || score(parallel[row], parallel[column]) >
                                         score(parallel[best->first], parallel[best->second])))
          best = {row, column};
        if (row < column)
          reason = why;
      }
    if (!best) // every pair may have a phase
      return reason.empty() ? "no two of its dimensions use elements again" : reason;
    to.row = parallel[best->first];
    to.column = parallel[best->second];
    for (auto [index, dim] : llvm::enumerate(parallel))
      if (index != best->first && index != best->second)
        to.batch.push_back(dim);
    return "";
  }

  /// \p expr over all parallel dimensions and all symbols, where wanted over those of the sum, too.
  kb::ExprAttr spread(kb::ExprAttr expr, bool overDepth = false) {
    SmallVector<StringAttr> loops, symbols;
    for (const NestDim &dim : parallel)
      loops.push_back(StringAttr::get(expr.getContext(), dim.name));
    for (const NestDim &dim : to.depth)
      if (overDepth)
        loops.push_back(StringAttr::get(expr.getContext(), dim.name));
    for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      symbols.push_back(StringAttr::get(expr.getContext(), symbol.getName()));
    return inSpace(expr, loops, symbols);
  }

  std::string findConditions() {
    for (NestDim *dim : {&to.row, &to.column})
      dim->extent = spread(dim->extent);
    for (const NestDim &dim : to.batch) {
      for (const NestDim &other : parallel)
        if (dependsOn(dim.extent, other.name))
          return "the extent of " + dim.name + " depends on " + other.name;
      for (const NestDim &inner : {to.row, to.column, to.depth.front(), to.depth.back()})
        if (dependsOn(inner.extent, dim.name))
          return "the extent of " + inner.name + " depends on " + dim.name;
    }
    for (size_t i = 0; i < to.depth.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (dependsOn(to.depth[i].extent, to.depth[j].name))
          return "the extent of " + to.depth[i].name + " depends on " + to.depth[j].name;
    for (auto [dim, other] : {std::pair(&to.row, &to.column), std::pair(&to.column, &to.row)}) {
      if (!dependsOn(dim->extent, other->name))
        continue;
      to.conditions.push_back(combined(dim->extent, -1, dimension(dim->name, dim->extent), -1));
      kb::ExprAttr most = extreme(dim->extent, other->name, other->extent, true);
      if (!most || dependsOn(most, dim->name))
        return "the extent of " + dim->name + " depends on " + other->name;
      dim->extent = most;
    }
    for (kb::DomainAttr domain : sum.domains)
      if (std::string reason = addDomain(domain); !reason.empty())
        return reason;
    if (std::string reason = findLength(); !reason.empty())
      return reason;
    findMask();
    if (std::string reason = coverSides(); !reason.empty())
      return reason;
    if (!isPlain)
      joinSides(parallel, to);
    return "";
  }

  kb::ExprAttr constraintOf(kb::DomainAttr domain, unsigned i, bool overDepth = false) {
    auto map = AffineMap::get(domain.getSet().getNumDims(), domain.getSet().getNumSymbols(),
                              domain.getSet().getConstraint(i));
    return spread(
        kb::ExprAttr::get(domain.getContext(), domain.getLoops(), domain.getSymbols(), map),
        overDepth);
  }

  std::string addDomain(kb::DomainAttr domain) {
    if (!domain.getExact())
      return "the condition on its points is not affine";
    for (unsigned i = 0; i < domain.getSet().getNumConstraints(); ++i) {
      if (domain.getSet().isEq(i))
        return "its points satisfy an equation";
      to.conditions.push_back(constraintOf(domain, i));
    }
    return "";
  }

  void findMask() {
    bool isOne = to.besideBefore.size() + to.besideAfter.size() == 1 && to.conditions.size() == 1;
    auto when = isOne ? dyn_cast<kb::WhenOp>(
                            (to.besideBefore.empty() ? to.besideAfter : to.besideBefore).front())
                      : kb::WhenOp();
    auto domain =
        when && when.getText().empty() && when.getDomain() ? *when.getDomain() : kb::DomainAttr();
    auto last = to.after.empty() ? kb::StoreOp() : dyn_cast<kb::StoreOp>(to.after.back());
    if (!last || !domain || !domain.getExact() || domain.getSet().getNumConstraints() != 1 ||
        domain.getSet().isEq(0) || !llvm::hasSingleElement(when.getBody().front()))
      return;
    auto store = dyn_cast<kb::StoreOp>(when.getBody().front().front());
    // c >= 0 is the opposite of -c - 1 >= 0.
    bool isOpposite =
        combined(to.conditions.front(), 1, constraintOf(domain, 0), 0).getConstant() == -1;
    if (isOpposite && store && !store.getAtomic() && !last.getAtomic() &&
        store.getTarget() == last.getTarget())
      to.instead = store;
  }

  /// A sum whose length depends on row or column (a product with a triangle).
  std::string findLength() {
    bool varies = false;
    for (const NestDim &dim : to.depth)
      varies |= dependsOn(dim.extent, to.row.name) || dependsOn(dim.extent, to.column.name);
    if (!varies)
      return "";
    kb::ExprAttr most = to.depth.size() == 1 ? spread(to.depth[0].extent) : kb::ExprAttr();
    for (const NestDim *dim : {&to.row, &to.column})
      if (most && !strideAlong(most, dim->name))
        return "the length of the sum over " + to.depth.front().name + " grows in steps with " +
               dim->name;
    to.length = most;
    for (const NestDim *dim : {&to.row, &to.column})
      most = most ? extreme(most, dim->name, dim->extent, true) : most;
    if (!most)
      return "the length of the sum over " + to.depth.front().name + " depends on " + to.row.name +
             " or " + to.column.name;
    to.depth[0].extent = most;
    return "";
  }

  /// A tile loads whole rows and columns; the given kernel reads only those that have points.
  std::string coverSides() {
    if (to.conditions.size() > 1)
      return "several conditions select its points";
    for (kb::ExprAttr condition : to.conditions) {
      for (const NestDim &dim : to.batch)
        if (dependsOn(condition, dim.name))
          return "a condition on its points depends on " + dim.name;
      for (auto [kept, other] : {std::pair(&to.row, &to.column), std::pair(&to.column, &to.row)}) {
        kb::ExprAttr worst = extreme(condition, other->name, other->extent, true);
        worst = worst ? extreme(worst, kept->name, kept->extent, false) : worst;
        if (!worst || (worst.getConstant() && *worst.getConstant() < 0))
          return "not every " + kept->name + " has a point with a sum";
        if (!worst.getConstant())
          to.launchConditions.push_back(worst);
      }
    }
    return "";
  }

  /// Splits the statements before the sum into those that all outputs share and the others.
  std::string sortPrologue() {
    std::vector<kb::LetOp> all = std::exchange(to.perOutput, {});
    for (kb::LetOp let : all) {
      bool isShared = !to.isSum(let.getName()) && !let.getReassigns();
      for (auto operand : operandsOf(let).getAsRange<kb::OperandAttr>())
        isShared &= !to.dependsOnSide(operand.getOffset(), true) &&
                    !to.dependsOnSide(operand.getOffset(), false);
      for (kb::LetOp other : all)
        if (other.getName() != let.getName() && mentions(let, other.getName()))
          isShared &= llvm::is_contained(to.shared, other);
      // One that changes later is not shared.
      for (kb::LetOp other : all)
        isShared &= other == let || other.getName() != let.getName();
      (isShared ? to.shared : to.perOutput).push_back(let);
    }
    for (kb::LetOp let : to.perOutput)
      for (Operation *op : to.term)
        if (mentions(op, let.getName()))
          return "the sum uses " + let.getName().str() + ", which differs between outputs";
    return "";
  }

  std::string findTiles() {
    for (Operation *op : to.term) {
      for (auto operand : operandsOf(op).getAsRange<kb::OperandAttr>()) {
        bool isRow = to.dependsOnSide(operand.getOffset(), true),
             isColumn = to.dependsOnSide(operand.getOffset(), false);
        if (operand.getKind() == kb::OperandKind::Element && isReadUnderCondition(op, operand))
          return "'" + operand.getBase().getName().str() +
                 "' is read under a condition inside an expression";
        if (usesNameOf(operand.getOffset(), *sum.body))
          return operand.getBase().getName().str() +
                 " is read at a place that is computed at each point";
        if (operand.getKind() == kb::OperandKind::Index) {
          if (isRow || isColumn)
            return "the sum uses the values of " + to.row.name + " or " + to.column.name;
          continue;
        }
        if ((!isRow && !isColumn) || to.tileOf(operand))
          continue;
        StringRef side = to.partsOf(isRow).back().name, depth = to.depth.back().name;
        bool alongDepth = to.depth.size() == 1 && strideAlong(operand.getOffset(), depth) == 1;
        to.tiles.push_back({operand,
                            isRow,
                            strideAlong(operand.getOffset(), side) == 1 && !alongDepth,
                            alongDepth,
                            to.depth.size() == 1 ? operand : kb::OperandAttr(),
                            false,
                            {}});
      }
    }
    std::string reason;
    if (to.after.empty() && to.besideAfter.empty())
      return "nothing is done with the sum";
    nest.walk([&](kb::StoreOp store) {
      for (kb::LetOp let : to.perOutput)
        for (kb::OperandAttr load : loadsOf(let))
          if (load.getBase() == store.getTarget().getBase() && !to.besideBefore.empty())
            reason = load.getBase().getName().str() +
                     " is stored before the sum and read for its initial value";
      for (Operation *op : to.term)
        for (kb::OperandAttr load : loadsOf(op))
          if (load.getBase() == store.getTarget().getBase())
            reason = load.getBase().getName().str() + " is both read in the sum and stored";
    });
    return reason;
  }

  std::string findGuards() {
    std::vector<GuardedStatement> term;
    for (auto [op, domains] : llvm::zip(to.term, sum.conditions)) {
      GuardedStatement &each = term.emplace_back(GuardedStatement{op, {}});
      for (kb::DomainAttr domain : domains)
        for (unsigned i = 0; i < domain.getSet().getNumConstraints(); ++i) {
          if (domain.getSet().isEq(i))
            return "the terms of its sum satisfy an equation";
          kb::ExprAttr guard = constraintOf(domain, i, true);
          if (!llvm::is_contained(each.guards, guard))
            each.guards.push_back(guard);
        }
      if (isPlain && !each.guards.empty())
        return "the loop over " + to.depth.front().name + " does more than to sum";
    }
    if (std::string reason = placeGuards(term, to); !reason.empty())
      return reason;
    if (isPlain)
      return "";
    flattenTiles(to);
    for (const ContractionTile &tile : to.tiles)
      if (!tile.guards.empty() && !tile.hasDigits)
        return tile.operand.getBase().getName().str() +
               " does not move on evenly from term to term";
    return "";
  }
};

} // namespace

std::string kbopt::findContraction(kb::NestOp nest, Contraction &contraction, bool isPlain) {
  return Finder(nest, contraction, isPlain).find();
}

std::string kbopt::findContraction(kb::NestOp nest, StringRef core, Contraction &contraction) {
  if (core == "simt")
    return findContraction(nest, contraction);
  Contraction joined;
  if (core != "tf32" && findContraction(nest, joined).empty() && joined.isConvolution()) {
    orderTerms(joined);
    contraction = std::move(joined);
    return "";
  }
  return findContraction(nest, contraction, /*isPlain=*/true);
}
