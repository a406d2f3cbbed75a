//===- Space.cpp - The variables of a thread program -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns divisions, substitution and printing of polynomials.
//
//===----------------------------------------------------------------------===//
#include "ThreadProgram.h"

using namespace kbopt;
using namespace kbopt::raise;

Space::Space() {
  static const char *const names[] = {"tid.x",  "tid.y",  "tid.z",  "bid.x",  "bid.y",  "bid.z",
                                      "bdim.x", "bdim.y", "bdim.z", "gdim.x", "gdim.y", "gdim.z"};
  static constexpr int64_t block[] = {1024, 1024, 64}, grid[] = {INT32_MAX, 65535, 65535};
  for (unsigned i = 0; i < analysis::FirstOtherVar; ++i) {
    bool isExtent = i >= analysis::BdimVar, isGrid = (i / 3) % 2;
    int64_t most = isGrid ? grid[i % 3] : block[i % 3];
    all.push_back({Fixed, names[i], isExtent ? 1 : 0, isExtent ? most : most - 1});
  }
}

Poly Space::divide(Kind kind, const Poly &dividend, const Poly &divisor) {
  if (divisor.isConstant() && isWithin(dividend, 0, divisor.constantTerm() - 1))
    return kind == Mod ? dividend : Poly();
  for (VarId var = analysis::FirstOtherVar; var < all.size(); ++var)
    if (all[var].kind == kind && all[var].dividend == dividend && all[var].divisor == divisor)
      return Poly::variable(var);
  Variable variable;
  variable.kind = kind;
  variable.dividend = dividend;
  variable.divisor = divisor;
  if (kind == Mod) {
    variable.low = 0;
    if (divisor.isConstant())
      variable.high = divisor.constantTerm() - 1;
  }
  return Poly::variable(add(std::move(variable)));
}

Poly Space::floorDiv(const Poly &dividend, const Poly &divisor) {
  if (divisor == Poly::constant(1))
    return dividend;
  // (a / b) / c is a / (b * c).
  if (dividend.monomials().size() == 1) {
    auto &[monomial, coefficient] = *dividend.monomials().begin();
    if (monomial.size() == 1 && coefficient == 1 && all[monomial[0]].kind == FloorDiv) {
      const Variable inner = all[monomial[0]];
      return floorDiv(inner.dividend, inner.divisor * divisor);
    }
  }
  // (a * d + r) / d = a + r / d, where every term of a * d is a multiple of d.
  if (divisor.monomials().size() == 1) {
    const auto &[factors, factor] = *divisor.monomials().begin();
    Poly whole, rest;
    for (auto &[monomial, coefficient] : dividend.monomials()) {
      Poly::Monomial left = monomial;
      bool divides = coefficient % factor == 0;
      for (VarId var : factors) {
        auto *at = llvm::find(left, var);
        divides &= at != left.end();
        if (at != left.end())
          left.erase(at);
      }
      Poly term = Poly::constant(divides ? coefficient / factor : coefficient);
      for (VarId var : divides ? left : monomial)
        term = term * Poly::variable(var);
      (divides ? whole : rest) = (divides ? whole : rest) + term;
    }
    if (rest.monomials().empty())
      return whole;
    if (rest.isConstant() && divisor.isConstant()) {
      int64_t a = rest.constantTerm(), d = factor;
      return whole + Poly::constant(a >= 0 ? a / d : -((-a + d - 1) / d));
    }
    return whole + divide(FloorDiv, rest, divisor);
  }
  if (dividend == divisor)
    return Poly::constant(1);
  return divide(FloorDiv, dividend, divisor);
}

Poly Space::countSteps(const Poly &length, const Poly &step) {
  Poly rounded = length + step - Poly::constant(1), count = floorDiv(rounded, step);
  // Folding may leave 1 + (length - 1) / step, of which the dividend may be negative.
  bool isPlain = step.isConstant() || count.isConstant();
  return isPlain ? count : divide(FloorDiv, rounded, step);
}

Poly Space::mod(const Poly &dividend, const Poly &divisor) {
  // Drop what is a multiple of the divisor.
  Poly quotient = floorDiv(dividend, divisor);
  Poly least = dividend - quotient * divisor;
  if (quotient.isConstant() ||
      (divisor.isConstant() && isWithin(least, 0, divisor.constantTerm() - 1)))
    return least;
  Poly whole, rest = dividend;
  for (auto &[monomial, coefficient] : quotient.monomials()) {
    bool isDivision = monomial.size() == 1 && all[monomial[0]].kind == FloorDiv &&
                      coefficient == 1 && all[monomial[0]].divisor == divisor;
    if (isDivision) {
      rest = all[monomial[0]].dividend;
      continue;
    }
    Poly term = Poly::constant(coefficient);
    for (VarId var : monomial)
      term = term * Poly::variable(var);
    whole = whole + term;
  }
  if (dividend == whole * divisor)
    return Poly::constant(0);
  if (!(dividend == whole * divisor + rest))
    rest = dividend;
  return divide(Mod, rest, divisor);
}

std::set<VarId> Space::variables(const Poly &poly) const {
  std::set<VarId> result;
  for (auto &[monomial, coefficient] : poly.monomials())
    for (VarId var : monomial) {
      if (!result.insert(var).second)
        continue;
      for (const Poly *part : {&all[var].dividend, &all[var].divisor})
        result.merge(variables(*part));
    }
  return result;
}

Poly Space::substitute(const Poly &poly, VarId replaced, const Poly &value) {
  Poly sum;
  for (auto &[monomial, coefficient] : poly.monomials()) {
    Poly term = Poly::constant(coefficient);
    for (VarId var : monomial) {
      bool isDivision = all[var].kind == FloorDiv || all[var].kind == Mod;
      if (var == replaced) {
        term = term * value;
      } else if (isDivision && dependsOn(Poly::variable(var), replaced)) {
        Poly dividend = substitute(Poly(all[var].dividend), replaced, value);
        Poly divisor = substitute(Poly(all[var].divisor), replaced, value);
        term = term * (all[var].kind == Mod ? mod(dividend, divisor) : floorDiv(dividend, divisor));
      } else {
        term = term * Poly::variable(var);
      }
    }
    sum = sum + term;
  }
  return poly.isValid() ? sum : poly;
}

bool Space::isUniform(const Poly &poly) const {
  return llvm::all_of(variables(poly), [&](VarId var) {
    Kind kind = all[var].kind;
    return kind == Fixed ? var >= analysis::BdimVar
                         : kind == Param || kind == FloorDiv || kind == Mod;
  });
}

static __int128 clamp(__int128 value) {
  constexpr __int128 most = (__int128)1 << 62;
  return std::clamp(value, -most * 4, most * 4);
}

/// low and high of a product; far outside 64 bits where nothing is known.
static std::pair<__int128, __int128> multiply(std::pair<__int128, __int128> a,
                                              std::pair<__int128, __int128> b) {
  auto product = [](__int128 x, __int128 y) -> __int128 {
    __int128 result;
    return __builtin_mul_overflow(x, y, &result)
               ? clamp((x < 0) == (y < 0) ? INT64_MAX : INT64_MIN) * 4
               : clamp(result);
  };
  __int128 corners[] = {product(a.first, b.first), product(a.first, b.second),
                        product(a.second, b.first), product(a.second, b.second)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

bool Space::isWithin(const Poly &poly, int64_t low, int64_t high) const {
  constexpr __int128 unknown = (__int128)1 << 64;
  std::pair<__int128, __int128> sum = {0, 0};
  for (auto &[monomial, coefficient] : poly.monomials()) {
    std::pair<__int128, __int128> term = {coefficient, coefficient};
    for (VarId var : monomial)
      term = multiply(term, {all[var].low ? (__int128)*all[var].low : -unknown,
                             all[var].high ? (__int128)*all[var].high : unknown});
    sum = {clamp(sum.first + term.first), clamp(sum.second + term.second)};
  }
  return poly.isValid() && sum.first >= low && sum.second <= high;
}

std::string Space::text(const Poly &poly) const {
  if (!poly.isValid())
    return "?";
  std::string result;
  for (auto &[monomial, coefficient] : llvm::reverse(poly.monomials())) {
    std::string term;
    for (VarId var : monomial) {
      bool isMod = all[var].kind == Mod;
      if (!term.empty())
        term += " * ";
      if (isMod || all[var].kind == FloorDiv)
        term += "((" + text(all[var].dividend) + (isMod ? ") % (" : ") / (") +
                text(all[var].divisor) + "))";
      else
        term += all[var].name;
    }
    int64_t size = coefficient < 0 ? -coefficient : coefficient;
    if (term.empty())
      term = std::to_string(size);
    else if (size != 1)
      term = std::to_string(size) + " * " + term;
    result += result.empty() ? (coefficient < 0 ? "-" : "") : coefficient < 0 ? " - " : " + ";
    result += term;
  }
  return result.empty() ? "0" : result;
}
