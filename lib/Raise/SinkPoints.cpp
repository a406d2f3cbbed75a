//===- SinkPoints.cpp - Dimensions of points as inner ones ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   points (i, j):  s = sum over k of x[i, k];  y[i, j] = x[i, j] / s
// ==>
//   points (i):     s = sum over k of x[i, k];  over j: y[i, j] = x[i, j] / s
//
//===----------------------------------------------------------------------===//
#include "SinkPoints.h"

#include "NestScalars.h"
#include "NestSpace.h"
#include "NestSystem.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kbopt::raise {

PointBlocks::PointBlocks(kb::NestOp nest) : nest(nest) {
  blocks.push_back(&nest.getBody().front());
  while (!blocks.back()->empty()) {
    auto when = dyn_cast<kb::WhenOp>(blocks.back()->back());
    if (!when || !when.getDomainAttr() || when.getDomainAttr().isUnknown() ||
        !when.getText().empty() || !when.getOperands().empty())
      break;
    whens.push_back(when);
    blocks.push_back(&when.getBody().front());
  }
}

bool PointBlocks::isStored(kb::BaseAttr base) const {
  bool found = false;
  kb::NestOp(nest).walk([&](kb::StoreOp store) { found |= store.getTarget().getBase() == base; });
  return found;
}

static SmallVector<StringRef> namesDefinedBy(Operation *op) {
  SmallVector<StringRef> names;
  if (auto let = dyn_cast<kb::LetOp>(op))
    names.push_back(let.getName());
  if (auto reduce = dyn_cast<kb::ReduceOp>(op))
    reduce.getName().split(names, ',');
  for (StringRef &name : names)
    name = name.trim();
  return names;
}

/// \p text without the `%a` and `%b` of what a kb.reduce does: they are no scalars a and b.
static std::string withoutHoles(StringRef text) {
  std::string result = text.str();
  for (const char *hole : {"%a", "%b"})
    for (size_t at = 0; (at = result.find(hole, at)) != std::string::npos;)
      if (at + 2 == result.size() || !(llvm::isAlnum(result[at + 2]) || result[at + 2] == '_'))
        result.erase(at, 2);
      else
        ++at;
  return result;
}

/// Whether \p name is a dimension, symbol or scalar that \p op alone, without what is in it, uses.
static bool usesName(Operation *op, StringRef name) {
  bool found = false;
  auto look = [&](ArrayRef<StringAttr> loops, ArrayRef<StringAttr> symbols, auto isUsed) {
    for (auto [i, loop] : llvm::enumerate(loops))
      found |= loop.getValue() == name && isUsed(i, true);
    for (auto [i, symbol] : llvm::enumerate(symbols))
      found |= symbol.getValue() == name && isUsed(i, false);
  };
  AttrTypeWalker walker;
  walker.addWalk([&](kb::ExprAttr expr) {
    look(expr.getLoops(), expr.getSymbols(), [&](unsigned i, bool isDim) {
      return isDim ? expr.getMap().isFunctionOfDim(kb::firstLoopDim + i)
                   : expr.getMap().isFunctionOfSymbol(kb::firstNamedSymbol + i);
    });
    return WalkResult::skip();
  });
  walker.addWalk([&](kb::DomainAttr domain) {
    look(domain.getLoops(), domain.getSymbols(), [&](unsigned i, bool isDim) {
      return llvm::any_of(domain.getSet().getConstraints(), [&](AffineExpr each) {
        return isDim ? each.isFunctionOfDim(kb::firstLoopDim + i)
                     : each.isFunctionOfSymbol(kb::firstNamedSymbol + i);
      });
    });
    return WalkResult::skip();
  });
  walker.addWalk([](kb::BaseAttr) { return WalkResult::skip(); });
  for (NamedAttribute each : op->getAttrs())
    if (auto text = dyn_cast<StringAttr>(each.getValue())) {
      bool isOwn = isa<kb::LetOp, kb::OverOp>(op) && each.getName() == "name";
      bool isWord = each.getName() == "reduction" || each.getName() == "type";
      std::string words =
          each.getName() == "combine" ? withoutHoles(text.getValue()) : text.getValue().str();
      found |= !isOwn && !isWord && mentions(words, name);
    } else {
      walker.walk<WalkOrder::PreOrder>(each.getValue());
    }
  return found;
}

std::set<std::string> PointBlocks::dependent(const std::set<std::string> &sunk) const {
  std::set<std::string> found;
  for (bool changed = true; changed;) {
    changed = false;
    for (Block *block : blocks)
      for (Operation &op : *block) {
        if (llvm::is_contained(whens, dyn_cast<kb::WhenOp>(op)) || isSame(&op, sunk, found))
          continue;
        op.walk([&](Operation *inner) {
          for (StringRef name : namesDefinedBy(inner))
            changed |= found.insert(name.str()).second;
        });
      }
  }
  return found;
}

bool PointBlocks::isSame(Operation *op, const std::set<std::string> &sunk,
                         const std::set<std::string> &dependent) const {
  bool isSame = true;
  op->walk([&](Operation *inner) {
    isSame &= isa<kb::LetOp, kb::ReduceOp, kb::OverOp, kb::WhenOp>(inner);
    for (const std::set<std::string> *names : {&sunk, &dependent})
      for (const std::string &name : *names)
        isSame &= !usesName(inner, name);
    for (StringRef name : namesDefinedBy(inner))
      isSame &= !dependent.count(name.str());
    if (auto operands = inner->getAttrOfType<ArrayAttr>("operands"))
      for (auto operand : operands.getAsRange<kb::OperandAttr>())
        isSame &=
            operand.getKind() != kb::OperandKind::Element || !this->isStored(operand.getBase());
  });
  return isSame;
}

namespace {

class Sinking {
public:
  Sinking(kb::NestOp nest, const std::set<std::string> &sunk)
      : nest(nest), sunk(sunk), points(nest), space(nest), builder(nest.getContext()) {
    for (auto dim : nest.getDims().getAsRange<StringAttr>())
      before.push_back(dim);
  }

  std::string run();

private:
  /// The part of a condition that does not depend on the dimensions, and the rest.
  struct Condition {
    SmallVector<AffineExpr> kept, moved;
    SmallVector<bool> keptEq, movedEq;
  };
  Condition split(kb::WhenOp when) const;
  bool isSunk(AffineExpr expr) const;
  std::string whyNotOrdered() const;
  bool holdsSomewhere(kb::WhenOp when, const Condition &condition) const;
  bool holds(kb::WhenOp when, AffineExpr expr) const;
  void shorten(Condition &condition, kb::WhenOp when);
  void build(ArrayRef<Condition> conditions);

  kb::NestOp nest;
  const std::set<std::string> &sunk;
  PointBlocks points;
  NestSpace space;
  OpBuilder builder;
  SmallVector<StringAttr> before;            ///< dimensions
  std::map<std::string, AffineExpr> extents; ///< of those that are sunk, over `before`
  std::set<std::string> dependent;
};

bool Sinking::isSunk(AffineExpr expr) const {
  for (auto [i, dim] : llvm::enumerate(before))
    if (sunk.count(dim.str()) && expr.isFunctionOfDim(kb::firstLoopDim + i))
      return true;
  return false;
}

Sinking::Condition Sinking::split(kb::WhenOp when) const {
  Condition result;
  kb::DomainAttr domain = when.getDomainAttr();
  for (auto [each, isEquality] :
       llvm::zip(domain.getSet().getConstraints(), domain.getSet().getEqFlags())) {
    AffineExpr expr = space.wide(each, domain.getLoops(), domain.getSymbols(), before);
    (isSunk(expr) ? result.moved : result.kept).push_back(expr);
    (isSunk(expr) ? result.movedEq : result.keptEq).push_back(isEquality);
  }
  return result;
}

/// Whether \p expr >= 0 wherever \p when is tested and what it says of the other dimensions holds.
bool Sinking::holds(kb::WhenOp when, AffineExpr expr) const {
  NestSystem system(nest);
  system.deadline = threadSeconds() + 0.5;
  system.addInstance(when, 0);
  Condition condition = split(when);
  for (auto [each, isEquality] : llvm::zip(condition.kept, condition.keptEq))
    system.add(system.import(space.expression(each, before), 0), isEquality);
  system.add(Polynomial::constant(-1) - system.import(space.expression(expr, before), 0));
  return system.isEmpty();
}

/// Wherever the rest of the condition holds, it holds for the first or the last index: what follows
/// is run for some point.
bool Sinking::holdsSomewhere(kb::WhenOp when, const Condition &condition) const {
  if (llvm::is_contained(condition.movedEq, true))
    return false;
  for (bool last : {false, true}) {
    bool all = true;
    for (AffineExpr each : condition.moved) {
      AffineExpr corner = each;
      for (auto [i, dim] : llvm::enumerate(before))
        if (sunk.count(dim.str()))
          corner = corner.replace(getAffineDimExpr(kb::firstLoopDim + i, builder.getContext()),
                                  last ? extents.at(dim.str()) - 1
                                       : getAffineConstantExpr(0, builder.getContext()));
      all &= holds(when, corner);
    }
    if (all)
      return true;
  }
  return condition.moved.empty();
}

/// A single upper bound of a dimension becomes its extent.
void Sinking::shorten(Condition &condition, kb::WhenOp when) {
  if (condition.moved.size() != 1 || sunk.size() != 1)
    return;
  unsigned position =
      llvm::find_if(before, [&](StringAttr dim) { return sunk.count(dim.str()); }) - before.begin();
  AffineExpr dim = getAffineDimExpr(kb::firstLoopDim + position, nest.getContext());
  AffineExpr extent =
      simplifyAffineExpr(condition.moved.front() + dim + 1, kb::firstLoopDim + before.size(),
                         kb::firstNamedSymbol + nest.getSymbols().size());
  AffineExpr &whole = extents.at(*sunk.begin());
  if (isSunk(extent) || !holds(when, whole - extent))
    return;
  whole = extent;
  condition.moved.clear();
  condition.movedEq.clear();
}

/// What is the same along the dimensions is run first: it may not change a scalar that something
/// else has read by then.
std::string Sinking::whyNotOrdered() const {
  std::set<Operation *> others;
  std::string reason;
  for (Block *block : points.blocks)
    for (Operation &op : *block) {
      if (llvm::is_contained(points.whens, dyn_cast<kb::WhenOp>(op)))
        continue;
      if (!points.isSame(&op, sunk, dependent)) {
        others.insert(&op);
        continue;
      }
      op.walk([&](Operation *inner) {
        for (StringRef name : namesDefinedBy(inner))
          for (Operation *other : others)
            other->walk([&](Operation *reader) {
              if (usesName(reader, name))
                reason = "'" + name.str() + "' changes after it is used";
            });
      });
    }
  return reason;
}

void Sinking::build(ArrayRef<Condition> conditions) {
  SmallVector<SmallVector<Operation *>> same(points.blocks.size()), others(points.blocks.size());
  for (auto [level, block] : llvm::enumerate(points.blocks))
    for (Operation &op : *block)
      if (!llvm::is_contained(points.whens, dyn_cast<kb::WhenOp>(op)))
        (points.isSame(&op, sunk, dependent) ? same : others)[level].push_back(&op);
  auto moveAll = [](ArrayRef<Operation *> ops, Block *to) {
    for (Operation *op : ops)
      op->moveBefore(to, to->end());
  };
  SmallVector<StringAttr> kept;
  for (StringAttr dim : before)
    if (!sunk.count(dim.str()))
      kept.push_back(dim);
  Block *target = &nest.getBody().front();
  auto addWhen = [&](ArrayRef<AffineExpr> constraints, ArrayRef<bool> isEquality,
                     NestSpace::Dims space_) {
    builder.setInsertionPointToEnd(target);
    auto when =
        kb::WhenOp::create(builder, nest.getLoc(), space.domain(constraints, isEquality, space_),
                           "", builder.getArrayAttr({}));
    target = &when.getBody().emplaceBlock();
  };
  // Conditions over the old dimensions move to the new ones at the end.
  moveAll(same[0], target);
  for (auto [level, condition] : llvm::enumerate(conditions)) {
    if (!condition.kept.empty())
      addWhen(condition.kept, condition.keptEq, before);
    moveAll(same[level + 1], target);
  }
  for (StringAttr dim : before)
    if (sunk.count(dim.str())) {
      builder.setInsertionPointToEnd(target);
      auto over = kb::OverOp::create(builder, nest.getLoc(), dim.getValue(),
                                     space.expression(extents.at(dim.str()), before),
                                     kb::LoopOrder::Any, false, StringAttr());
      target = &over.getBody().emplaceBlock();
    }
  moveAll(others[0], target);
  for (auto [level, condition] : llvm::enumerate(conditions)) {
    if (!condition.moved.empty())
      addWhen(condition.moved, condition.movedEq, before);
    moveAll(others[level + 1], target);
  }
  if (!points.whens.empty())
    points.whens.front().erase();
  SmallVector<Attribute> dims(kept.begin(), kept.end()), newExtents, requirements;
  for (auto [dim, extent] : llvm::zip(before, nest.getExtents().getAsRange<kb::ExprAttr>()))
    if (!sunk.count(dim.str()))
      newExtents.push_back(space.moved(extent, kept));
  for (auto each : nest.getRequirements()->getAsRange<kb::ExprAttr>())
    requirements.push_back(space.moved(each, kept));
  nest.setDimsAttr(builder.getArrayAttr(dims));
  nest.setExtentsAttr(builder.getArrayAttr(newExtents));
  nest.setRequirementsAttr(builder.getArrayAttr(requirements));
  moveToDimensionsAround(nest);
}

std::string Sinking::run() {
  if (nest.getDomain())
    return "its points are no box";
  dependent = points.dependent(sunk);
  if (std::string reason = whyNotOrdered(); !reason.empty())
    return reason;
  // Sums are formed only where there is a point that needs them.
  SmallVector<Attribute> requirements;
  if (nest.getRequirements())
    llvm::append_range(requirements, *nest.getRequirements());
  for (auto [dim, extent] : llvm::zip(before, nest.getExtents().getAsRange<kb::ExprAttr>())) {
    AffineExpr wide = space.wide(extent, before);
    for (auto [i, other] : llvm::enumerate(before))
      if (wide.isFunctionOfDim(kb::firstLoopDim + i))
        return "the extent of '" + dim.str() + "' depends on '" + other.str() + "'";
    if (!sunk.count(dim.str()))
      continue;
    extents[dim.str()] = wide;
    requirements.push_back(space.expression(wide - 1, before));
  }
  for (Attribute each : requirements)
    for (auto [i, dim] : llvm::enumerate(before))
      if (cast<kb::ExprAttr>(each).getMap().isFunctionOfDim(kb::firstLoopDim + i))
        return "what it requires depends on '" + dim.str() + "'";
  nest.setRequirementsAttr(builder.getArrayAttr(requirements));
  SmallVector<Condition> conditions;
  bool isConditional = false; // for some of the points along the dimensions
  for (auto [level, when] : llvm::enumerate(points.whens)) {
    conditions.push_back(split(when));
    bool isAlone = true; // nothing outside of the condition is left for the inner dimensions
    for (Block *block : ArrayRef(points.blocks).take_front(level + 1))
      for (Operation &op : *block)
        isAlone &= llvm::is_contained(points.whens, dyn_cast<kb::WhenOp>(op)) ||
                   points.isSame(&op, sunk, dependent);
    if (!conditions.back().kept.empty() && !isAlone)
      return "a point does something outside of a condition, too";
    if (!holdsSomewhere(when, conditions.back()) ||
        (isConditional && !conditions.back().moved.empty()))
      return "not every sum is needed by a point";
    isConditional |= !conditions.back().moved.empty();
    if (isAlone && conditions.size() == 1 && points.whens.size() == 1)
      shorten(conditions.back(), when);
  }
  build(conditions);
  return "";
}

} // namespace

std::string sinkPoints(kb::NestOp nest, const std::set<std::string> &sunk) {
  return Sinking(nest, sunk).run();
}

} // namespace kbopt::raise
