//===- Space.cpp - The variables of a thread program -----------------------===//
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

Poly Space::mod(const Poly &dividend, const Poly &divisor) {
  // Drop what is a multiple of the divisor.
  Poly quotient = floorDiv(dividend, divisor);
  if (quotient.isConstant())
    return dividend - quotient * divisor;
  Poly whole, rest = dividend;
  for (auto &[monomial, coefficient] : quotient.monomials()) {
    bool isDivision = monomial.size() == 1 && all[monomial[0]].kind == FloorDiv && coefficient == 1 &&
                      all[monomial[0]].divisor == divisor;
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
    return kind == Fixed ? var >= analysis::BdimVar : kind == Param || kind == FloorDiv || kind == Mod;
  });
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
        term += "((" + text(all[var].dividend) + (isMod ? ") % (" : ") / (") + text(all[var].divisor) + "))";
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
