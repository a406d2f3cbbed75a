//===- ConditionText.cpp - Conditions of a nest as CUDA text ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how an affine condition is written as a comparison. The condition n - i - 2 >= 0 is one of
// numbers without a limit, and `i + 1 < n` says the same of those that a thread has: it neither
// leaves the range of `int` where the values are any data, nor asks whether an unsigned difference
// is negative.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Bounds.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// What a side of a comparison is made of.
struct Leaves {
  bool isUnsigned = false;    ///< some value is
  bool mayBeNegative = false; ///< some value may be
  bool isAnything = false;    ///< some value neither counts iterations nor places an element
};

/// A sum of addends without a minus.
struct Side {
  SmallVector<AffineExpr> addends;
  int64_t constant = 0;

  /// Whether nothing of it leaves the range that its values have.
  bool staysInRange() const {
    auto isProduct = [](AffineExpr each) { return each.getKind() == AffineExprKind::Mul; };
    return addends.size() + (constant != 0) < 2 && llvm::none_of(addends, isProduct);
  }
};

struct Sides {
  Side left, right;
  StringRef relation;
};

/// -expr if \p expr is a product with a negative number.
AffineExpr withoutMinus(AffineExpr expr) {
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return {};
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (factor && factor.getValue() < 0 && factor.getValue() != INT64_MIN)
    return product.getLHS() * -factor.getValue();
  if (AffineExpr left = withoutMinus(product.getLHS()))
    return left * product.getRHS();
  return {};
}

/// Adds the addends of \p expr to those of \p positive, those with a minus to \p negative, and
/// numbers to the constant of \p positive.
void split(AffineExpr expr, Side &positive, Side &negative) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    positive.constant += constant.getValue();
  } else if (expr.getKind() == AffineExprKind::Add) {
    split(cast<AffineBinaryOpExpr>(expr).getLHS(), positive, negative);
    split(cast<AffineBinaryOpExpr>(expr).getRHS(), positive, negative);
  } else if (AffineExpr other = withoutMinus(expr)) {
    negative.addends.push_back(other);
  } else {
    positive.addends.push_back(expr);
  }
}

/// The comparison that \p expr >= 0 or \p expr == 0 is. Some addend is no number.
Sides sidesOf(AffineExpr expr, bool isEquality) {
  Sides sides{{}, {}, isEquality ? " == " : " <= "};
  auto &[left, right, relation] = sides;
  split(expr, right, left);
  int64_t constant = std::exchange(right.constant, 0);
  if (left.addends.empty()) {
    std::swap(left, right);
    const bool isAboveZero = !isEquality && constant == -1;
    if (!isEquality)
      relation = isAboveZero ? " > " : " >= ";
    right.constant = isAboveZero ? 0 : -constant;
  } else if (right.addends.empty()) {
    right.constant = constant;
  } else {
    if (!isEquality && constant < 0)
      relation = " < ", ++constant;
    (constant < 0 ? left : right).constant = std::abs(constant);
  }
  return sides;
}

} // namespace

const llvm::StringSet<> &CudaText::sizes() {
  if (knowsSizes)
    return sizeNames;
  knowsSizes = true;
  auto add = [&](kb::ExprAttr expr) {
    for (auto [index, name] : llvm::enumerate(expr.getSymbols()))
      if (expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
        sizeNames.insert(name.getValue());
  };
  for (auto extent : theNest.getExtents().getAsRange<kb::ExprAttr>())
    add(extent);
  theNest.walk([&](kb::OverOp over) { add(over.getExtent()); });
  forEachAccess(theNest, [&](kb::OperandAttr operand, bool) { add(operand.getOffset()); });
  return sizeNames;
}

std::string CudaText::comparison(kb::ExprAttr expr, bool isEquality) {
  if (isa<AffineConstantExpr>(expr.getExpr()))
    return expression(expr) + (isEquality ? " == 0" : " >= 0");
  auto [left, right, relation] = sidesOf(expr.getExpr(), isEquality);
  auto leavesOf = [&](const Side &side) {
    Leaves leaves;
    leaves.mayBeNegative = side.constant < 0;
    for (AffineExpr addend : side.addends)
      addend.walk([&](AffineExpr part) {
        auto symbol = dyn_cast<AffineSymbolExpr>(part);
        if (!symbol || symbol.getPosition() < kb::firstNamedSymbol)
          return;
        StringRef name = kb::symbolName(symbol.getPosition(), expr.getSymbols());
        leaves.isAnything |= !sizes().contains(name);
        auto isIt = [&](kb::SymbolAttr each) { return each.getName() == name; };
        auto all = theNest.getSymbols().getAsRange<kb::SymbolAttr>();
        auto found = llvm::find_if(all, isIt);
        bool isUnsigned = found != all.end() && !(*found).getIsSigned();
        (isUnsigned ? leaves.isUnsigned : leaves.mayBeNegative) = true;
      });
    return leaves;
  };
  auto write = [&](const Side &side, const Side &other) {
    Leaves leaves = leavesOf(side);
    bool isWide = (leaves.isAnything && !side.staysInRange()) ||
                  (leaves.isUnsigned && (leaves.mayBeNegative || leavesOf(other).mayBeNegative));
    std::string text;
    for (AffineExpr addend : side.addends) {
      kb::ExprAttr one = withExpr(expr, addend);
      bool isProduct = addend.getKind() == AffineExprKind::Mul;
      std::string words = isWide && isProduct ? wideExpression(one, "long long") : expression(one);
      if (isWide && text.empty() && !isProduct)
        words = "(long long)" + (isAtom(words) ? words : "(" + words + ")");
      text += (text.empty() ? "" : " + ") + words;
    }
    if (side.constant != 0 || text.empty())
      text += (text.empty() ? "" : " + ") + std::to_string(side.constant);
    return text;
  };
  return write(left, right) + relation.str() + write(right, left);
}

std::string CudaText::condition(kb::DomainAttr domain) {
  std::string text;
  IntegerSet set = domain.getSet();
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    auto map = AffineMap::get(set.getNumDims(), set.getNumSymbols(), set.getConstraint(i));
    auto expr = kb::ExprAttr::get(domain.getContext(), domain.getLoops(), domain.getSymbols(), map);
    text += (text.empty() ? "" : " && ") + comparison(expr, set.isEq(i));
  }
  return text.empty() ? "true" : text;
}

std::string CudaText::condition(kb::WhenOp when, OperandText replaced) {
  if (!when.getText().empty())
    return fill(when.getText(), when.getOperands(), replaced);
  return when.getDomain() ? condition(*when.getDomain()) : "true";
}
