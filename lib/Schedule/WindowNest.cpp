//===- WindowNest.cpp - Points that combine a window of elements ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "WindowNest.h"
#include "Accesses.h"
#include "Bounds.h"
#include "Points.h"
#include "Windows.h"

using namespace kbopt;
using namespace mlir;

/// More elements of a window than these are not written out.
static constexpr int64_t mostElements = 64;

std::string kbopt::fixedText(const FixedValues &values) {
  std::string text;
  for (const auto &[name, value] : values)
    text += (text.empty() ? "" : ",") + name + ":" + std::to_string(value);
  return text.empty() ? "none" : text;
}

static SmallVector<kb::OverOp> loopsOf(kb::NestOp nest) {
  SmallVector<kb::OverOp> loops;
  nest.walk<WalkOrder::PreOrder>([&](kb::OverOp over) { loops.push_back(over); });
  return loops;
}

/// The condition number \p number of \p domain.
static kb::ExprAttr constraintOf(kb::DomainAttr domain, unsigned number) {
  auto map = AffineMap::get(domain.getSet().getNumDims(), domain.getSet().getNumSymbols(),
                            domain.getSet().getConstraint(number));
  return kb::ExprAttr::get(domain.getContext(), domain.getLoops(), domain.getSymbols(), map);
}

/// Calls \p look for every condition on indices around elements of a window.
static void forEachCondition(kb::NestOp nest, llvm::function_ref<void(kb::WhenOp)> look) {
  nest.walk([&](kb::WhenOp when) {
    if (when->getParentOfType<kb::OverOp>() && when.getDomain() && when.getText().empty())
      look(when);
  });
}

std::string kbopt::whyNoWindow(kb::NestOp nest) {
  if (nest.getDomain())
    return "its points are not a box";
  SmallVector<kb::OverOp> loops = loopsOf(nest);
  int64_t elements = 1;
  for (kb::OverOp over : loops) {
    std::string name = "the loop over '" + over.getName().str() + "'";
    if (over.isUnbounded() || over.getText())
      return "data ends " + name;
    bool stores = false;
    over.walk([&](kb::StoreOp) { stores = true; });
    if (stores)
      return name + " stores";
    for (StringAttr other : over.getExtent().getLoops())
      if (dependsOn(over.getExtent(), other))
        return "the length of " + name + " depends on '" + other.str() + "'";
    if (CudaText(nest).hostExpression(over.getExtent()).empty())
      return "the host does not know the length of " + name;
    elements *= std::clamp<int64_t>(over.getExtent().getConstant().value_or(1), 1, 1024);
    bool asksData = false;
    over.walk([&](kb::WhenOp when) { asksData |= !when.getText().empty() || !when.getDomain(); });
    if (asksData)
      return "a condition on data stands in " + name;
    if (elements > mostElements)
      return "each point combines more than " + std::to_string(mostElements) + " elements";
  }
  bool hasEquation = false;
  forEachCondition(nest, [&](kb::WhenOp when) {
    for (unsigned i = 0; i < when.getDomain()->getSet().getNumConstraints(); ++i)
      hasEquation |= when.getDomain()->getSet().isEq(i);
  });
  if (hasEquation)
    return "the elements that a point combines satisfy an equation";
  return sumsWindows(nest) || tilesWindows(nest) ? ""
                                                 : "neighbouring points load no common element";
}

/// The parameters that \p expr names.
static std::set<std::string> symbolsOf(kb::ExprAttr expr) {
  std::set<std::string> names;
  for (auto [index, symbol] : llvm::enumerate(expr.getSymbols()))
    if (expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
      names.insert(symbol.str());
  return names;
}

/// How many steps of a loop, which move a place by \p inner, one of a dimension is, which moves it
/// by \p along; 0 if that is none of a window.
static int64_t stepsBetween(kb::ExprAttr along, kb::ExprAttr inner, const LaunchSizes &sizes) {
  constexpr int64_t most = 8;
  for (int64_t steps = 1; steps <= most; ++steps)
    if (areEqual(along.getExpr(), inner.getExpr() * steps) ||
        areEqual(along.getExpr(), inner.getExpr() * -steps))
      return steps;
  auto far = valueAt(along, sizes), near = valueAt(inner, sizes);
  if (!far || !near || *near == 0 || *far % *near != 0)
    return 0;
  int64_t steps = std::abs(*far / *near);
  return steps <= most ? steps : 0;
}

/// The parameters of which the steps between windows consist.
static std::set<std::string> stepSymbols(kb::NestOp nest, const LaunchSizes &sizes) {
  std::set<std::string> names;
  SmallVector<StringAttr> symbols;
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    symbols.push_back(StringAttr::get(nest.getContext(), symbol.getName()));
  auto look = [&](kb::ExprAttr place, kb::OverOp over) {
    place = inSpace(place, place.getLoops(), symbols);
    kb::ExprAttr inner = gainAlong(place, over.getName()), best;
    int64_t fewest = 0;
    for (auto dim : nest.getDims().getAsRange<StringAttr>()) {
      kb::ExprAttr along = dependsOn(place, dim.getValue()) && dependsOn(place, over.getName())
                               ? gainAlong(place, dim.getValue())
                               : kb::ExprAttr();
      int64_t steps = along && inner ? stepsBetween(along, inner, sizes) : 0;
      if (steps && (!fewest || steps < fewest))
        fewest = steps, best = along;
    }
    if (!best)
      return;
    std::set<std::string> one = symbolsOf(best), other = symbolsOf(inner);
    std::set_symmetric_difference(one.begin(), one.end(), other.begin(), other.end(),
                                  std::inserter(names, names.end()));
  };
  for (kb::OverOp over : loopsOf(nest))
    over.walk([&](Operation *op) {
      for (kb::OperandAttr load : loadsOf(op))
        look(load.getOffset(), over);
    });
  return names;
}

std::optional<FixedValues> kbopt::fixedValues(kb::NestOp nest, const LaunchSizes &sizes) {
  std::set<std::string> names = stepSymbols(nest, sizes);
  for (kb::OverOp over : loopsOf(nest))
    names.merge(symbolsOf(over.getExtent()));
  FixedValues values;
  for (const std::string &name : names) {
    auto known = sizes.find(name);
    auto symbol = llvm::find_if(nest.getSymbols().getAsRange<kb::SymbolAttr>(),
                                [&](kb::SymbolAttr each) { return each.getName() == name; });
    if (known == sizes.end() || (*symbol).getOrigin() != kb::SymbolOrigin::Param ||
        StringRef(name).find_first_of(" ,:=") != StringRef::npos)
      return std::nullopt;
    values[name] = known->second;
  }
  return values;
}

//===-- The copy ------------------------------------------------------------===//

namespace {

/// Puts numbers in the place of parameters.
class Fixer {
public:
  explicit Fixer(const FixedValues &fixed) : fixed(fixed) {}

  AffineMap change(AffineMap map, ArrayRef<StringAttr> symbols) {
    return map.replaceDimsAndSymbols({}, values(symbols, map.getContext()), map.getNumDims(),
                                     map.getNumSymbols());
  }
  kb::ExprAttr change(kb::ExprAttr expr) {
    return kb::ExprAttr::get(expr.getContext(), expr.getLoops(), expr.getSymbols(),
                             simplifyAffineMap(change(expr.getMap(), expr.getSymbols())));
  }
  kb::DomainAttr change(kb::DomainAttr domain) {
    IntegerSet set = domain.getSet();
    set = set.replaceDimsAndSymbols({}, values(domain.getSymbols(), set.getContext()),
                                    set.getNumDims(), set.getNumSymbols());
    return kb::DomainAttr::get(domain.getContext(), domain.getLoops(), domain.getSymbols(), set,
                               domain.getExact());
  }
  kb::OperandAttr change(kb::OperandAttr operand) {
    return kb::OperandAttr::get(operand.getContext(), operand.getKind(), operand.getBase(),
                                operand.getType(), operand.getBytes(), change(operand.getOffset()),
                                operand.getIndices(), operand.getStrides());
  }
  ArrayAttr change(ArrayAttr operands) {
    SmallVector<Attribute> all;
    for (auto operand : operands.getAsRange<kb::OperandAttr>())
      all.push_back(change(operand));
    return ArrayAttr::get(operands.getContext(), all);
  }
  void change(Operation *op) {
    if (auto operands = op->getAttrOfType<ArrayAttr>("operands"))
      op->setAttr("operands", change(operands));
    if (auto store = dyn_cast<kb::StoreOp>(op))
      store.setTargetAttr(change(store.getTarget()));
    if (auto over = dyn_cast<kb::OverOp>(op))
      over.setExtentAttr(change(over.getExtent()));
    if (auto when = dyn_cast<kb::WhenOp>(op); when && when.getDomain())
      when.setDomainAttr(change(*when.getDomain()));
  }

private:
  const FixedValues &fixed;

  SmallVector<AffineExpr> values(ArrayRef<StringAttr> symbols, MLIRContext *context) {
    SmallVector<AffineExpr> all;
    for (unsigned i = 0; i < kb::firstNamedSymbol; ++i)
      all.push_back(getAffineSymbolExpr(i, context));
    for (auto [index, symbol] : llvm::enumerate(symbols)) {
      auto known = fixed.find(symbol.str());
      all.push_back(known == fixed.end()
                        ? getAffineSymbolExpr(kb::firstNamedSymbol + index, context)
                        : getAffineConstantExpr(known->second, context));
    }
    return all;
  }
};

} // namespace

FixedNest::FixedNest(kb::NestOp nest, const FixedValues &fixed) {
  OpBuilder builder(nest.getContext());
  builder.setInsertionPointAfter(nest);
  copy = cast<kb::NestOp>(builder.clone(*nest));
  Fixer fixer(fixed);
  copy.walk([&](Operation *op) {
    if (op != copy.getOperation())
      fixer.change(op);
  });
}

FixedNest::~FixedNest() { copy.erase(); }

std::optional<int64_t> FixedNest::windowSize() const {
  int64_t elements = 1;
  for (kb::OverOp over : loopsOf(copy)) {
    auto length = over.getExtent().getConstant();
    if (!length || *length < 1 || *length > mostElements)
      return std::nullopt;
    elements *= *length;
    if (elements > mostElements)
      return std::nullopt;
  }
  return elements;
}

SmallVector<StringRef> FixedNest::sharing(StringRef lanes) const {
  SmallVector<StringRef> dims;
  for (auto dim : kb::NestOp(copy).getDims().getAsRange<StringAttr>())
    if (dim.getValue() != lanes && sharesWindows(copy, dim.getValue()))
      dims.push_back(dim.getValue());
  return dims;
}

std::optional<std::vector<FixedNest::Inside>> FixedNest::inside(StringRef along) const {
  std::vector<Inside> all;
  bool areRanges = true;
  forEachCondition(copy, [&](kb::WhenOp when) {
    for (unsigned i = 0; i < when.getDomain()->getSet().getNumConstraints(); ++i) {
      kb::ExprAttr worst = constraintOf(*when.getDomain(), i);
      if (!dependsOn(worst, along))
        continue;
      for (kb::OverOp over : loopsOf(copy))
        if (worst && dependsOn(worst, over.getName()))
          worst = extreme(worst, over.getName(), over.getExtent(), false);
      auto rises = worst ? directionAlong(worst, along) : std::nullopt;
      areRanges &= rises.has_value();
      if (rises && llvm::none_of(all, [&](const Inside &each) { return each.worst == worst; }))
        all.push_back({worst, *rises < 0});
    }
  });
  return areRanges ? std::optional(std::move(all)) : std::nullopt;
}

void FixedNest::dropConditions(StringRef along) {
  SmallVector<kb::WhenOp> conditions;
  forEachCondition(copy, [&](kb::WhenOp when) { conditions.push_back(when); });
  for (kb::WhenOp when : conditions) {
    kb::DomainAttr domain = *when.getDomain();
    SmallVector<AffineExpr> kept;
    for (unsigned i = 0; i < domain.getSet().getNumConstraints(); ++i)
      if (!dependsOn(constraintOf(domain, i), along))
        kept.push_back(domain.getSet().getConstraint(i));
    if (!kept.empty()) {
      auto set = IntegerSet::get(domain.getSet().getNumDims(), domain.getSet().getNumSymbols(),
                                 kept, SmallVector<bool>(kept.size(), false));
      when.setDomainAttr(kb::DomainAttr::get(domain.getContext(), domain.getLoops(),
                                             domain.getSymbols(), set, domain.getExact()));
      continue;
    }
    Block &inside = when.getBody().front();
    when->getBlock()->getOperations().splice(when->getIterator(), inside.getOperations());
    when.erase();
  }
}

/// Whether \p load, of which the loops and conditions around it are known, can be loaded for a row
/// of points before them; finds the loop that slides along it.
static bool canLoadAhead(kb::NestOp nest, WindowLoad &load, StringRef along) {
  kb::ExprAttr place = load.operand.getOffset();
  if (usesNameOf(place, nest.getBody().front()))
    return false;
  if (dependsOn(place, along)) {
    for (kb::OverOp over : load.loops)
      if (int64_t steps = slidingSteps(nest, place, over, along); steps && !load.sliding)
        load.sliding = over, load.steps = steps;
    if (!load.sliding)
      return false;
  }
  for (kb::WhenOp when : load.conditions)
    for (unsigned i = 0; i < when.getDomain()->getSet().getNumConstraints(); ++i) {
      kb::ExprAttr condition = constraintOf(*when.getDomain(), i);
      if (usesNameOf(condition, nest.getBody().front()))
        return false;
      for (kb::OverOp over : loopsOf(nest))
        if (dependsOn(condition, over.getName()) &&
            (!llvm::is_contained(load.loops, over) || over == load.sliding))
          return false;
    }
  return true;
}

std::vector<WindowLoad> FixedNest::loads(StringRef along) const {
  std::vector<WindowLoad> all;
  kb::NestOp nest = copy;
  std::set<const void *> stored;
  nest.walk(
      [&](kb::StoreOp store) { stored.insert(store.getTarget().getBase().getAsOpaquePointer()); });
  nest.walk([&](Operation *op) {
    for (kb::OperandAttr operand : loadsOf(op)) {
      WindowLoad load;
      load.operand = operand;
      bool isPlain = !isReadUnderCondition(op, operand) &&
                     !stored.count(operand.getBase().getAsOpaquePointer());
      for (Operation *each = op->getParentOp(); each != nest.getOperation();
           each = each->getParentOp())
        if (auto over = dyn_cast<kb::OverOp>(each);
            over && dependsOn(operand.getOffset(), over.getName()))
          load.loops.insert(load.loops.begin(), over);
        else if (auto when = dyn_cast<kb::WhenOp>(each);
                 when && when->getParentOfType<kb::OverOp>())
          load.conditions.insert(load.conditions.begin(), when);
      bool isKnown =
          llvm::any_of(all, [&](const WindowLoad &other) { return other.operand == load.operand; });
      if (isPlain && !isKnown && !load.loops.empty() && canLoadAhead(nest, load, along))
        all.push_back(std::move(load));
    }
  });
  // One that is also loaded under other conditions waits for its own.
  llvm::erase_if(all, [&](const WindowLoad &load) {
    unsigned places = 0;
    nest.walk([&](Operation *op) { places += llvm::count(loadsOf(op), load.operand); });
    return places > 1 && !load.conditions.empty();
  });
  return all;
}
