//===- ContractionGuards.cpp - Conditions around the terms of a sum ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what becomes of a condition around a term (the padding of a convolution): a tile has a zero
// where it fails, so that the term is zero, too. Proves that this adds nothing but zeros, and that
// every element which is then always loaded exists.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Contraction.h"

using namespace kbopt;
using namespace mlir;

bool kbopt::isZeroText(StringRef text) {
  return text == "0" || text == "0.0f" || text == "0.f" || text == "0.0" || text == "0.";
}

/// \p text without parentheses around all of it.
static StringRef withoutParentheses(StringRef text) {
  for (text = text.trim(); text.starts_with("(") && text.ends_with(")"); text = text.trim()) {
    int depth = 0;
    for (size_t at = 0; at + 1 < text.size(); ++at)
      if (depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0; depth == 0)
        return text;
    text = text.drop_front().drop_back();
  }
  return text;
}

bool kbopt::keepsZero(StringRef text, llvm::function_ref<bool(StringRef)> isZero) {
  text = withoutParentheses(text);
  if (isZero(text))
    return true;
  for (StringRef cast : {"(float)", "(double)", "__half2float", "__bfloat162float", "float",
                         "double", "static_cast<float>", "static_cast<double>"}) {
    StringRef rest = text;
    if (!rest.consume_front(cast))
      continue;
    rest = rest.trim();
    bool isWhole = cast.ends_with(")") || withoutParentheses(rest) != rest;
    if (isWhole && keepsZero(rest, isZero))
      return true;
  }
  return false;
}

/// Whether \p text is a product of which one factor is zero.
static bool isProductWithZero(StringRef text, llvm::function_ref<bool(StringRef)> isZero) {
  text = withoutParentheses(text);
  int depth = 0;
  size_t first = 0;
  bool found = false;
  auto factor = [&](StringRef each) {
    found |= keepsZero(each, isZero) ||
             (withoutParentheses(each) != each.trim() && isProductWithZero(each, isZero));
  };
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth > 0)
      continue;
    if (c == '*') {
      factor(text.slice(first, at));
      first = at + 1;
    } else if (c == '<' && text.substr(0, at).ends_with("static_cast")) {
      at = std::min(text.find('>', at), text.size());
    } else if (StringRef("+-/%?:<>=&|^!~,;").contains(c)) {
      return false;
    }
  }
  factor(text.substr(first));
  return found;
}

namespace {

bool isNegative(AffineExpr expr) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue() < 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Mul)
    return isNegative(binary.getLHS()) != isNegative(binary.getRHS());
  return binary && expr.getKind() == AffineExprKind::Add && isNegative(binary.getLHS()) &&
         isNegative(binary.getRHS());
}

class Placer {
public:
  Placer(ArrayRef<GuardedStatement> term, Contraction &to) : term(term), to(to) {}

  std::string place() {
    for (const GuardedStatement &each : term)
      for (kb::OperandAttr load : loadsOf(each.op))
        if (std::string reason = placeLoad(load, each.guards); !reason.empty())
          return reason;
    for (const GuardedStatement &each : term)
      if (auto reduce = dyn_cast<kb::ReduceOp>(each.op); reduce && !each.guards.empty())
        if (std::string reason = placeSum(reduce, each.guards); !reason.empty())
          return reason;
    llvm::append_range(to.launchConditions, conditions);
    return "";
  }

private:
  ArrayRef<GuardedStatement> term;
  Contraction &to;
  static constexpr int64_t mostPhases = 64;
  std::vector<kb::ExprAttr> conditions; ///< of the launch, each >= 0
  llvm::SmallPtrSet<const ContractionTile *, 4> placed;

  /// Adds that \p expr is not negative; false if it is.
  bool require(kb::ExprAttr expr) {
    if (auto constant = expr.getConstant())
      return *constant >= 0;
    if (!llvm::is_contained(conditions, expr))
      conditions.push_back(expr);
    return true;
  }

  /// The same for each of the few values of the dimensions of the batch: the phases of a stride.
  bool requireForAll(kb::ExprAttr expr) {
    for (const NestDim &dim : to.batch) {
      if (!dependsOn(expr, dim.name))
        continue;
      std::optional<int64_t> extent = dim.extent.getConstant();
      if (!extent || *extent > mostPhases)
        return false;
      for (int64_t each = 0; each < *extent; ++each)
        if (!requireForAll(withDim(expr, dim.name, getAffineConstantExpr(each, expr.getContext()))))
          return false;
      return true;
    }
    return require(expr);
  }

  /// How \p expr changes with \p dim: its size, which the launch tests, and whether it falls.
  std::pair<kb::ExprAttr, bool> gainOf(kb::ExprAttr expr, StringRef dim) {
    kb::ExprAttr gain = gainAlong(expr, dim);
    if (!gain)
      return {};
    bool falls = isNegative(gain.getExpr());
    kb::ExprAttr size = falls ? withExpr(gain, gain.getExpr() * -1) : gain;
    return {require(size) ? size : kb::ExprAttr(), falls};
  }

  /// \p expr where \p dim makes it smallest, or largest; null if that is not known.
  kb::ExprAttr extremeAlong(kb::ExprAttr expr, const NestDim &dim, bool largest) {
    if (!dependsOn(expr, dim.name))
      return expr;
    auto [size, falls] = gainOf(expr, dim.name);
    if (!size)
      return {};
    AffineExpr end = inSpace(dim.extent, expr.getLoops(), expr.getSymbols()).getExpr() - 1;
    return withDim(expr, dim.name,
                   falls != largest ? end : getAffineConstantExpr(0, expr.getContext()));
  }

  kb::ExprAttr smallestOverDepth(kb::ExprAttr expr) {
    for (const NestDim &dim : to.depth)
      expr = expr ? extremeAlong(expr, dim, false) : expr;
    return expr;
  }

  std::string placeLoad(kb::OperandAttr load, ArrayRef<kb::ExprAttr> guards) {
    std::string name = load.getBase().getName().str();
    auto tile =
        llvm::find_if(to.tiles, [&](const ContractionTile &each) { return each.operand == load; });
    if (tile == to.tiles.end())
      return guards.empty() ? "" : name + " is read under a condition, and has no tile";
    std::vector<kb::ExprAttr> own, others;
    for (kb::ExprAttr guard : guards)
      (to.dependsOnSide(guard, !tile->isRow) ? others : own).push_back(guard);
    if (!placed.insert(&*tile).second && tile->guards != own)
      return name + " is read under different conditions";
    tile->guards = own;
    return proveRead(*tile, others);
  }

  /// The given kernel reads every element of \p tile that the new one loads, although \p guards
  /// stand around it: for each term there is a point of the other side that passes them.
  std::string proveRead(const ContractionTile &tile, ArrayRef<kb::ExprAttr> guards) {
    std::string reason = "not every element of " + tile.operand.getBase().getName().str() +
                         " is known to be read by some output";
    size_t explained = 0;
    for (const NestDim &part : to.partsOf(!tile.isRow)) {
      SmallVector<kb::ExprAttr> rising, falling;
      for (kb::ExprAttr guard : guards) {
        if (!dependsOn(guard, part.name))
          continue;
        ++explained; // a guard over two dimensions counts twice
        if (to.dependsOnSide(guard, tile.isRow))
          return reason;
        (gainOf(guard, part.name).second ? falling : rising).push_back(guard);
        kb::ExprAttr best = extremeAlong(guard, part, true);
        best = best ? smallestOverDepth(best) : best;
        if (!best || !requireForAll(best))
          return reason;
      }
      // Where the last one passes each rising condition and the first one each falling one, some
      // one passes two of them if steps are no longer than the range that they may fall into.
      // Ranges that meet two by two have a point in common.
      for (kb::ExprAttr low : rising)
        for (kb::ExprAttr high : falling) {
          kb::ExprAttr step = gainOf(low, part.name).first, range = combined(low, 1, high, 1);
          range = step && !dependsOn(range, part.name)
                      ? smallestOverDepth(combined(range, -1, step, 0))
                      : kb::ExprAttr();
          if (!range || !requireForAll(range))
            return reason;
        }
    }
    return explained == guards.size() ? "" : reason;
  }

  bool isZeroElement(StringRef text, kb::ReduceOp reduce, ArrayRef<kb::ExprAttr> guards) {
    auto covers = [&](kb::OperandAttr operand) {
      const ContractionTile *tile = to.tileOf(operand);
      return tile && llvm::all_of(guards, [&](kb::ExprAttr guard) {
               return llvm::is_contained(tile->guards, guard);
             });
    };
    auto isZeroHole = [&](StringRef hole, ArrayAttr operands) {
      unsigned number = 0;
      return hole.consume_front("$") && !hole.getAsInteger(10, number) &&
             number < operands.size() && covers(cast<kb::OperandAttr>(operands[number]));
    };
    if (isZeroHole(text, reduce.getOperands()))
      return true;
    bool isZero = false;
    for (const GuardedStatement &each : term) // the last one counts
      if (auto let = dyn_cast<kb::LetOp>(each.op); let && let.getName() == text)
        isZero = keepsZero(let.getText(),
                           [&](StringRef hole) { return isZeroHole(hole, let.getOperands()); });
    return isZero;
  }

  std::string placeSum(kb::ReduceOp reduce, ArrayRef<kb::ExprAttr> guards) {
    bool isZero = reduce.getCombine() == "%a + %b" &&
                  isProductWithZero(reduce.getText(), [&](StringRef text) {
                    return isZeroElement(text, reduce, guards);
                  });
    if (!isZero)
      return "a condition around the sum over " + to.depth.front().name +
             " leaves out terms that zeros do not stand for";
    to.leavesOut = true;
    for (kb::ExprAttr guard : guards) {
      kb::ExprAttr always = smallestOverDepth(guard);
      if (!always)
        return "a condition around the sum changes with its terms in an unknown way";
      if (!llvm::is_contained(to.alwaysHolds, always))
        to.alwaysHolds.push_back(always);
    }
    return "";
  }
};

} // namespace

std::string kbopt::placeGuards(ArrayRef<GuardedStatement> term, Contraction &contraction) {
  bool any = llvm::any_of(term, [](const GuardedStatement &each) { return !each.guards.empty(); });
  if (!any)
    return "";
  if (contraction.selectsPoints() || contraction.length)
    return "there are conditions on its points and on its terms";
  for (const GuardedStatement &each : term)
    for (kb::ExprAttr guard : each.guards) {
      for (unsigned k = 0; k < kb::firstNamedSymbol; ++k)
        if (guard.getExpr().isFunctionOfSymbol(k))
          return "a condition around the sum depends on the launch's threads";
      for (auto [index, name] : llvm::enumerate(guard.getSymbols()))
        for (auto symbol : contraction.nest.getSymbols().getAsRange<kb::SymbolAttr>())
          if (symbol.getName() == name.getValue() &&
              guard.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index) &&
              (!symbol.getIsSigned() || symbol.getOrigin() != kb::SymbolOrigin::Param))
            return "a condition around the sum depends on " + symbol.getName().str();
    }
  for (const GuardedStatement &each : term)
    if (auto text = each.op->getAttrOfType<StringAttr>("text");
        text && text.getValue().find_first_of("/%") != StringRef::npos)
      return "a condition around the sum keeps it from dividing";
  return Placer(term, contraction).place();
}
