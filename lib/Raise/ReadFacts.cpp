//===- ReadFacts.cpp - What is known of integers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question whether values are positive or fit their types, by what is known, by conditions
// around them, or as requirements and obligations.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"

using namespace clang;

namespace kbopt::raise {

std::pair<int64_t, int64_t> limits(const Integer &value) {
  if (value.bits != 32)
    return {value.isSigned ? INT64_MIN : 0, INT64_MAX};
  return {value.isSigned ? INT32_MIN : 0,
          value.isSigned ? (int64_t)INT32_MAX : (int64_t)UINT32_MAX};
}

void ThreadReader::require(const Poly &poly) {
  if (poly.isConstant() && poly.constantTerm() >= 0)
    return;
  if (!llvm::is_contained(program.requirements, poly))
    program.requirements.push_back(poly);
}

bool ThreadReader::isNonNegative(const Poly &poly, bool mayRequire) {
  if (!poly.isValid())
    return false;
  if (poly.isConstant())
    return poly.constantTerm() >= 0;
  llvm::SmallVector<VarId> needed;
  bool isClear = true;
  for (auto &[monomial, coefficient] : poly.monomials()) {
    if (coefficient < 0)
      isClear = false;
    for (VarId var : monomial) {
      const Space::Variable &known = space[var];
      if (known.low && *known.low >= 0)
        continue;
      if (known.kind == Space::FloorDiv) {
        if (!isNonNegative(Poly(known.dividend), mayRequire))
          return false;
        continue;
      }
      if (known.kind == Space::Param)
        needed.push_back(var);
      else
        isClear = false;
    }
  }
  if (isClear && (needed.empty() || mayRequire)) {
    for (VarId var : needed)
      require(Poly::variable(var));
    return true;
  }
  if (mayRequire && space.isUniform(poly)) {
    require(poly);
    return true;
  }
  return false;
}

bool ThreadReader::isPositive(const Poly &poly) {
  if (poly.isConstant())
    return poly.constantTerm() > 0;
  // A product is positive if its factors are.
  if (poly.monomials().size() == 1 && poly.monomials().begin()->second > 0 &&
      space.isUniform(poly)) {
    for (VarId var : poly.monomials().begin()->first)
      if (!space[var].low || *space[var].low < 1)
        require(Poly::variable(var) - Poly::constant(1));
    return true;
  }
  bool isProduct = poly.monomials().size() == 1 && poly.monomials().begin()->second > 0;
  if (isProduct && llvm::all_of(poly.monomials().begin()->first,
                                [&](VarId var) { return space[var].low && *space[var].low >= 1; }))
    return true;
  if (!space.isUniform(poly))
    return false;
  require(poly - Poly::constant(1));
  return true;
}

bool ThreadReader::isImpossible(const Constraint &constraint) {
  Poly below = Poly::constant(-1) - constraint.poly;
  return isNonNegative(below, false) ||
         (constraint.isEquality && isNonNegative(constraint.poly - Poly::constant(1), false));
}

Poly ThreadReader::simplify(const Poly &given) {
  Poly poly = joinMultiples(given);
  for (auto &[monomial, coefficient] : poly.monomials())
    for (VarId var : monomial) {
      const Space::Variable division = space[var];
      if (division.kind != Space::FloorDiv)
        continue;
      // ... + k * idx - k * d * (idx / d) is ... + k * (idx % d).
      Poly quotient = Poly::variable(var) * division.divisor;
      for (int64_t k : {int64_t(1), -coefficient}) {
        Poly factor = Poly::constant(k);
        Poly rest = poly - factor * (division.dividend - quotient);
        if (!rest.contains(var) && rest.monomials().size() < poly.monomials().size())
          return simplify(rest + factor * space.mod(division.dividend, division.divisor));
      }
    }
  return poly;
}

Poly ThreadReader::joinDigits(const Poly &poly) {
  for (auto &[monomial, coefficient] : poly.monomials())
    for (VarId var : monomial) {
      const Space::Variable division = space[var];
      if (division.kind != Space::FloorDiv || poly.coefficientOf(var) != division.divisor)
        continue;
      Poly joined = poly - Poly::variable(var) * division.divisor + division.dividend -
                    space.mod(division.dividend, division.divisor);
      if (joined.monomials().size() <
          poly.monomials().size() + division.dividend.monomials().size() - 1)
        return joinDigits(joined);
    }
  return poly;
}

Poly ThreadReader::expandRemainders(const Poly &poly) {
  for (auto &[monomial, coefficient] : poly.monomials())
    for (VarId var : monomial) {
      const Space::Variable remainder = space[var];
      Poly factor = remainder.kind == Space::Mod ? poly.coefficientOf(var) : Poly();
      if (!factor.isValid() || factor.monomials().empty())
        continue;
      Poly whole = remainder.divisor * space.floorDiv(remainder.dividend, remainder.divisor);
      Poly expanded = poly - factor * Poly::variable(var) + factor * (remainder.dividend - whole);
      if (expanded.isValid() && expanded.monomials().size() < poly.monomials().size())
        return expandRemainders(expanded);
    }
  return poly;
}

bool ThreadReader::isGuarded(Poly poly) {
  bool hasUsed = false;
  for (const Constraint &each : given) {
    if (each.isEquality)
      continue;
    for (auto &[monomial, coefficient] : each.poly.monomials()) {
      if (monomial.size() != 1 || coefficient != 1)
        continue;
      Poly factor = poly.coefficientOf(monomial[0]);
      if (!factor.isValid() || factor.monomials().empty() || !isNonNegative(factor, true))
        continue;
      poly = poly - factor * each.poly;
      hasUsed = true;
      break;
    }
  }
  bool onlyAdds = llvm::all_of(poly.monomials(), [](const auto &each) { return each.second > 0; });
  return hasUsed && onlyAdds && isNonNegative(poly, true);
}

bool ThreadReader::demand(Integer &value, const Expr *shown) {
  if (value.isExact)
    return true;
  if (!value.poly.isValid())
    return false;
  auto [low, high] = limits(value);
  Poly poly = joinDigits(value.poly);
  if (space.isWithin(poly, low, high)) {
    value.isExact = true;
    return true;
  }
  if (value.poly.isConstant())
    return false;
  if (low == 0 && (isGuarded(value.poly) || isGuarded(poly))) // `if (x > 0) … y * w + x - 1 …`
    low = INT64_MIN;
  value.isExact = true;
  if (low == INT64_MIN && high == INT64_MAX)
    return true;
  program.obligations.push_back(
      {poly, low, high,
       "'" + sourceText(shown) + "' fits " + std::to_string(value.bits) + " bits"});
  return true;
}

} // namespace kbopt::raise
