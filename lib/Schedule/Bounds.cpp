//===- Bounds.cpp - Extremes of affine expressions --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Bounds.h"
#include "Accesses.h"

using namespace kbopt;
using namespace mlir;

static unsigned positionOf(ArrayRef<StringAttr> names, StringAttr name) {
  return static_cast<unsigned>(llvm::find(names, name) - names.begin());
}

kb::ExprAttr kbopt::withExpr(kb::ExprAttr like, AffineExpr expr) {
  unsigned dims = like.getMap().getNumDims(), symbols = like.getMap().getNumSymbols();
  auto map = AffineMap::get(dims, symbols, simplifyAffineExpr(expr, dims, symbols));
  return kb::ExprAttr::get(like.getContext(), like.getLoops(), like.getSymbols(), map);
}

kb::ExprAttr kbopt::inSpace(kb::ExprAttr expr, ArrayRef<StringAttr> loops,
                            ArrayRef<StringAttr> symbols) {
  MLIRContext *context = expr.getContext();
  SmallVector<AffineExpr> dimTexts, symbolTexts;
  for (unsigned i = 0; i < kb::firstLoopDim; ++i)
    dimTexts.push_back(getAffineDimExpr(i, context));
  for (StringAttr loop : expr.getLoops())
    dimTexts.push_back(getAffineDimExpr(kb::firstLoopDim + positionOf(loops, loop), context));
  for (unsigned i = 0; i < kb::firstNamedSymbol; ++i)
    symbolTexts.push_back(getAffineSymbolExpr(i, context));
  for (StringAttr symbol : expr.getSymbols())
    symbolTexts.push_back(
        getAffineSymbolExpr(kb::firstNamedSymbol + positionOf(symbols, symbol), context));
  auto map = AffineMap::get(kb::firstLoopDim + loops.size(), kb::firstNamedSymbol + symbols.size(),
                            expr.getExpr().replaceDimsAndSymbols(dimTexts, symbolTexts));
  return kb::ExprAttr::get(context, loops, symbols, map);
}

kb::ExprAttr kbopt::combined(kb::ExprAttr a, int64_t factor, kb::ExprAttr b, int64_t constant) {
  return withExpr(a, a.getExpr() + b.getExpr() * factor + constant);
}

kb::ExprAttr kbopt::withDim(kb::ExprAttr expr, StringRef dim, AffineExpr value) {
  unsigned position = positionOf(expr.getLoops(), StringAttr::get(expr.getContext(), dim));
  AffineExpr self = getAffineDimExpr(kb::firstLoopDim + position, expr.getContext());
  return withExpr(expr, expr.getExpr().replace(self, value));
}

namespace {

/// A sum of products, each with its factor.
using Polynomial = std::map<std::vector<const void *>, int64_t>;

Polynomial product(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[left, leftFactor] : a)
    for (const auto &[right, rightFactor] : b) {
      std::vector<const void *> factors(left);
      factors.insert(factors.end(), right.begin(), right.end());
      llvm::sort(factors);
      result[factors] += leftFactor * rightFactor;
    }
  return result;
}

Polynomial polynomial(AffineExpr expr) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return {{{}, number.getValue()}};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Mul)
    return product(polynomial(binary.getLHS()), polynomial(binary.getRHS()));
  if (binary && expr.getKind() == AffineExprKind::Add) {
    Polynomial sum = polynomial(binary.getLHS());
    for (const auto &[factors, factor] : polynomial(binary.getRHS()))
      sum[factors] += factor;
    return sum;
  }
  return {{{expr.getAsOpaquePointer()}, 1}};
}

} // namespace

bool kbopt::areEqual(AffineExpr a, AffineExpr b) {
  Polynomial difference = polynomial(a - b);
  return llvm::all_of(difference, [](const auto &each) { return each.second == 0; });
}

kb::ExprAttr kbopt::dimension(StringRef name, kb::ExprAttr like) {
  unsigned position = positionOf(like.getLoops(), StringAttr::get(like.getContext(), name));
  return withExpr(like, getAffineDimExpr(kb::firstLoopDim + position, like.getContext()));
}

/// Whether \p expr is positive because it consists of sizes of the launch and numbers that are.
static bool isLaunchSize(AffineExpr expr) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue() > 0;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbol.getPosition() < kb::firstNamedSymbol;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return binary &&
         (expr.getKind() == AffineExprKind::Add || expr.getKind() == AffineExprKind::Mul) &&
         isLaunchSize(binary.getLHS()) && isLaunchSize(binary.getRHS());
}

/// 1 if \p expr never falls when dimension \p position grows, -1 if it never rises, 0 if it does
/// not change.
static std::optional<int> direction(AffineExpr expr, unsigned position) {
  if (!expr.isFunctionOfDim(position))
    return 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 1;
  std::optional<int> left = direction(binary.getLHS(), position);
  auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (expr.getKind() == AffineExprKind::Add) {
    std::optional<int> right = direction(binary.getRHS(), position);
    return left && right && *left * *right >= 0 ? std::optional(*left + *right > 0   ? 1
                                                                : *left + *right < 0 ? -1
                                                                                     : 0)
                                                : std::nullopt;
  }
  if (left && expr.getKind() == AffineExprKind::FloorDiv && isLaunchSize(binary.getRHS()))
    return left;
  if (!left || !number)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mul)
    return number.getValue() < 0 ? -*left : *left;
  return std::nullopt;
}

std::optional<int64_t> kbopt::directionAlong(kb::ExprAttr expr, StringRef dim) {
  if (std::optional<int64_t> gain = strideAlong(expr, dim))
    return gain;
  unsigned position =
      kb::firstLoopDim + positionOf(expr.getLoops(), StringAttr::get(expr.getContext(), dim));
  if (std::optional<int> rises = direction(expr.getExpr(), position))
    return *rises;
  return std::nullopt;
}

kb::ExprAttr kbopt::extreme(kb::ExprAttr expr, StringRef dim, kb::ExprAttr extent, bool largest) {
  std::optional<int64_t> gain = directionAlong(expr, dim);
  unsigned position =
      kb::firstLoopDim + positionOf(expr.getLoops(), StringAttr::get(expr.getContext(), dim));
  if (!gain)
    return {};
  AffineExpr at =
      (*gain > 0) == largest ? extent.getExpr() - 1 : getAffineConstantExpr(0, expr.getContext());
  return withExpr(expr, expr.getExpr().replace(getAffineDimExpr(position, expr.getContext()), at));
}

std::string kbopt::comparison(CudaText &text, kb::ExprAttr expr, bool negated) {
  SmallVector<AffineExpr> terms = {expr.getExpr()};
  AffineExpr zero = getAffineConstantExpr(0, expr.getContext()), more = zero, less = zero;
  while (!terms.empty()) {
    AffineExpr term = terms.pop_back_val();
    auto binary = dyn_cast<AffineBinaryOpExpr>(term);
    if (binary && binary.getKind() == AffineExprKind::Add) {
      terms.push_back(binary.getLHS());
      terms.push_back(binary.getRHS());
      continue;
    }
    auto factor = dyn_cast<AffineConstantExpr>(
        binary && binary.getKind() == AffineExprKind::Mul ? binary.getRHS() : term);
    bool isNegative = factor && factor.getValue() < 0;
    (isNegative ? less : more) = (isNegative ? less - term : more + term);
  }
  // a + 1 <= b is a < b.
  auto sum = dyn_cast<AffineBinaryOpExpr>(less);
  auto constant = sum && sum.getKind() == AffineExprKind::Add
                      ? dyn_cast<AffineConstantExpr>(sum.getRHS())
                      : AffineConstantExpr();
  bool isStrict = constant && constant.getValue() == 1;
  less = isStrict ? sum.getLHS() : less;
  std::string sign = negated ? (isStrict ? " >= " : " > ") : (isStrict ? " < " : " <= ");
  return text.expression(withExpr(expr, less)) + sign + text.expression(withExpr(expr, more));
}
