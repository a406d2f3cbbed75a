//===- Poly.cpp - Polynomials over the index space -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns polynomial arithmetic, ranges, and conversion to MLIR's affine
// expressions.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Poly.h"

#include "llvm/Support/MathExtras.h"

namespace kbopt::analysis {

static constexpr __int128 infinity = (__int128)1 << 100;
/// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
static constexpr int64_t maxBlockThreads = 1024;

Poly Poly::constant(int64_t value) {
  Poly poly;
  poly.add({}, value);
  return poly;
}

Poly Poly::variable(VarId var) {
  Poly poly;
  poly.add({var}, 1);
  return poly;
}

void Poly::add(const Monomial &monomial, int64_t coefficient) {
  if (coefficient == 0)
    return;
  auto [it, isNew] = terms.try_emplace(monomial, coefficient);
  if (isNew)
    return;
  if (llvm::AddOverflow(it->second, coefficient, it->second))
    valid = false;
  if (it->second == 0)
    terms.erase(it);
}

int64_t Poly::constantTerm() const {
  auto it = terms.find({});
  return it == terms.end() ? 0 : it->second;
}

Poly Poly::operator+(const Poly &other) const {
  Poly sum = *this;
  sum.valid &= other.valid;
  for (auto &[monomial, coefficient] : other.terms)
    sum.add(monomial, coefficient);
  return sum;
}

Poly Poly::operator*(const Poly &other) const {
  Poly product;
  product.valid = valid && other.valid;
  for (auto &[left, leftCoefficient] : terms)
    for (auto &[right, rightCoefficient] : other.terms) {
      Monomial both = left;
      both.append(right);
      llvm::sort(both);
      int64_t coefficient;
      if (llvm::MulOverflow(leftCoefficient, rightCoefficient, coefficient))
        product.valid = false;
      else
        product.add(both, coefficient);
    }
  return product;
}

Poly Poly::coefficientOf(VarId var) const {
  Poly result;
  for (auto &[monomial, coefficient] : terms) {
    if (!llvm::is_contained(monomial, var))
      continue;
    if (llvm::count(monomial, var) > 1)
      result.valid = false;
    Monomial rest;
    for (VarId other : monomial)
      if (other != var)
        rest.push_back(other);
    result.add(rest, coefficient);
  }
  return result;
}

Poly Poly::without(VarId var) const {
  Poly result;
  result.valid = valid;
  for (auto &[monomial, coefficient] : terms)
    if (!llvm::is_contained(monomial, var))
      result.add(monomial, coefficient);
  return result;
}

bool Poly::contains(VarId var) const {
  return llvm::any_of(terms, [&](auto &term) { return llvm::is_contained(term.first, var); });
}

VarTable::VarTable(const LaunchRanges &launches) : fits31(launches.fits31) {
  for (const auto *extents : {&launches.block, &launches.grid})
    for (const Interval &extent : *extents)
      vars.push_back({true, {0, extent.high - 1}, {}});
  for (const auto *extents : {&launches.block, &launches.grid})
    for (const Interval &extent : *extents)
      vars.push_back({false, extent, {}});
}

VarId VarTable::addLoop(int64_t maxTrips) {
  vars.push_back({true, {0, maxTrips > 0 ? (__int128)maxTrips - 1 : infinity}, {}, true});
  return vars.size() - 1;
}

VarId VarTable::addSymbol(Interval range) {
  vars.push_back({false, range, {}});
  return vars.size() - 1;
}

VarId VarTable::addDivision(Division division) {
  for (VarId var = FirstOtherVar; var < vars.size(); ++var)
    if (auto &known = vars[var].division)
      if (known->isMod == division.isMod && known->dividend == division.dividend &&
          known->divisor == division.divisor)
        return var;
  bool dim = !isSymbolic(division.dividend) || !isSymbolic(division.divisor);
  Interval dividend = range(division.dividend), divisor = range(division.divisor);
  Interval result;
  if (division.isMod) {
    result = {0, std::max<__int128>(0, divisor.high - 1)};
    if (dividend.low >= 0)
      result.high = std::min(result.high, dividend.high);
  } else {
    __int128 least = std::max<__int128>(1, divisor.low);
    auto floorBy = [](__int128 a, __int128 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
    result = {dividend.low >= 0 ? 0 : floorBy(dividend.low, least),
              dividend.high >= 0 ? dividend.high / least : -1};
  }
  vars.push_back({dim, result, std::move(division)});
  return vars.size() - 1;
}

VarId VarTable::floorDiv(const Poly &dividend, const Poly &divisor) {
  return addDivision({dividend, divisor, false});
}
VarId VarTable::mod(const Poly &dividend, const Poly &divisor) {
  return addDivision({dividend, divisor, true});
}

bool VarTable::isDim(VarId var) const { return vars[var].isDim; }

bool VarTable::isSymbolic(const Poly &poly) const {
  for (auto &[monomial, coefficient] : poly.monomials())
    for (VarId var : monomial)
      if (isDim(var))
        return false;
  return true;
}

bool VarTable::isAffine(const Poly &poly) const {
  for (auto &[monomial, coefficient] : poly.monomials()) {
    if (llvm::count_if(monomial, [&](VarId var) { return isDim(var); }) > 1)
      return false;
    for (VarId var : monomial)
      if (auto &division = vars[var].division)
        if (!isAffine(division->dividend) || !isSymbolic(division->divisor))
          return false;
  }
  return poly.isValid();
}

const VarTable::Division *VarTable::division(VarId var) const {
  return vars[var].division ? &*vars[var].division : nullptr;
}

static __int128 clampWide(__int128 value) { return std::clamp(value, -infinity, infinity); }

static __int128 multiply(__int128 a, __int128 b) {
  __int128 product;
  if (__builtin_mul_overflow(a, b, &product))
    return (a < 0) == (b < 0) ? infinity : -infinity;
  return clampWide(product);
}

static Interval multiply(Interval a, Interval b) {
  __int128 corners[] = {multiply(a.low, b.low), multiply(a.low, b.high), multiply(a.high, b.low),
                        multiply(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

Interval VarTable::range(const Poly &poly) {
  if (!poly.isValid())
    return {-infinity, infinity};
  Poly rest = poly;
  Interval total = {0, 0};
  auto accumulate = [&](Interval part) {
    total = {clampWide(total.low + part.low), clampWide(total.high + part.high)};
  };
  auto v = [](VarId var) { return Poly::variable(var); };
  auto coefficient = [&](Poly::Monomial monomial) {
    auto it = rest.monomials().find(monomial);
    return it == rest.monomials().end() ? 0 : it->second;
  };
  // bid.c * bdim.c + tid.c is a thread's number in the grid: below 2^31.
  for (unsigned c = 0; c < 3; ++c) {
    int64_t factor = coefficient({BidVar + c, BdimVar + c});
    if (!factor)
      continue;
    Poly taken = v(BidVar + c) * v(BdimVar + c);
    if (coefficient({TidVar + c}) == factor)
      taken = taken + v(TidVar + c);
    accumulate(multiply({factor, factor}, gridThreads(c)));
    rest = rest - taken * Poly::constant(factor);
  }
  // tid.x + tid.y * bdim.x + tid.z * bdim.x * bdim.y is its number in the block.
  if (int64_t factor = coefficient({TidVar + 1, BdimVar})) {
    Poly taken = v(TidVar + 1) * v(BdimVar);
    if (coefficient({TidVar}) == factor)
      taken = taken + v(TidVar);
    if (coefficient({TidVar + 2, BdimVar, BdimVar + 1}) == factor)
      taken = taken + v(TidVar + 2) * v(BdimVar) * v(BdimVar + 1);
    accumulate(multiply({factor, factor}, {0, maxBlockThreads - 1}));
    rest = rest - taken * Poly::constant(factor);
  }
  for (auto &[monomial, factor] : rest.monomials())
    accumulate(multiply({factor, factor}, rangeOfProduct(monomial)));
  return total;
}

Interval VarTable::gridThreads(unsigned component) {
  Interval extents = multiply(vars[BdimVar + component].range, vars[GdimVar + component].range);
  if (extents.high <= (__int128)INT32_MAX + 1)
    return {0, extents.high - 1};
  assumed |= !fits31; // only gridDim.x can be that large
  return {0, INT32_MAX};
}

/// Whether \p var is derived from the block's extents alone.
bool VarTable::isBlockShape(VarId var) const {
  if (var >= BdimVar && var < GdimVar)
    return true;
  auto &division = vars[var].division;
  if (!division)
    return false;
  std::set<VarId> leaves;
  collectLeaves(division->dividend, leaves);
  collectLeaves(division->divisor, leaves);
  return llvm::all_of(leaves, [](VarId leaf) { return leaf >= BdimVar && leaf < GdimVar; });
}

Interval VarTable::rangeOfProduct(const Poly::Monomial &monomial) {
  Interval result = {1, 1}, shape = {1, 1};
  std::optional<unsigned> grid;
  bool counted = false;
  for (VarId var : monomial) {
    bool isGrid = (var >= BidVar && var < BdimVar) || (var >= GdimVar && var < FirstOtherVar);
    if (isBlockShape(var) && vars[var].range.high <= maxBlockThreads) {
      shape = multiply(shape, vars[var].range);
      shape.high = std::min<__int128>(shape.high, maxBlockThreads);
      counted = true;
    } else if (isGrid && !grid) {
      grid = var;
    } else {
      result = multiply(result, vars[var].range);
    }
  }
  if (grid && counted) {
    __int128 most = multiply(vars[*grid].range.high, shape.high);
    if (most > INT32_MAX) { // what fits31 says
      assumed |= !fits31;
      most = INT32_MAX;
    }
    return multiply(result, {vars[*grid].range.low * shape.low, most});
  }
  if (grid)
    result = multiply(result, vars[*grid].range);
  return multiply(result, shape);
}

bool VarTable::isWild(const Poly &poly) {
  bool before = assumed;
  Poly plain;
  for (auto &[monomial, factor] : poly.monomials()) {
    Poly term = Poly::constant(factor);
    for (VarId var : monomial) {
      bool isNamed = var >= FirstOtherVar && !vars[var].isDim && !vars[var].division;
      bool isGridSize = var >= GdimVar && var < FirstOtherVar;
      bool isBlockIndex = var >= BidVar && var < BdimVar;
      if (!isNamed && !isGridSize && !isBlockIndex && !vars[var].isLoop)
        term = term * Poly::variable(var);
    }
    plain = plain + term;
  }
  Interval bounds = range(plain);
  assumed = before;
  return bounds.low < INT32_MIN || bounds.high > INT32_MAX;
}

void VarTable::collectLeaves(const Poly &poly, std::set<VarId> &leaves) const {
  for (auto &[monomial, coefficient] : poly.monomials())
    for (VarId var : monomial) {
      if (auto &division = vars[var].division) {
        collectLeaves(division->dividend, leaves);
        collectLeaves(division->divisor, leaves);
      } else {
        leaves.insert(var);
      }
    }
}

bool VarTable::dependsOn(const Poly &poly, VarId var) const {
  std::set<VarId> leaves;
  collectLeaves(poly, leaves);
  return leaves.count(var);
}

mlir::AffineExpr VarTable::toAffine(const Poly &poly, mlir::MLIRContext *context,
                                    llvm::function_ref<mlir::AffineExpr(VarId)> leaf) const {
  if (!isAffine(poly))
    return {};
  auto one = [&](VarId var) -> mlir::AffineExpr {
    const Division *division = this->division(var);
    if (!division)
      return leaf(var);
    mlir::AffineExpr dividend = toAffine(division->dividend, context, leaf);
    mlir::AffineExpr divisor = toAffine(division->divisor, context, leaf);
    return division->isMod ? dividend % divisor : dividend.floorDiv(divisor);
  };
  mlir::AffineExpr sum;
  auto append = [&](mlir::AffineExpr part) { sum = sum ? sum + part : part; };
  for (auto &[monomial, coefficient] : poly.monomials()) {
    if (monomial.empty())
      continue;
    mlir::AffineExpr product, dim;
    for (VarId var : monomial) {
      if (isDim(var))
        dim = one(var);
      else
        product = product ? product * one(var) : one(var);
    }
    // The dimension first, as in `i * n`.
    if (dim)
      product = product ? dim * product : dim;
    append(product * coefficient);
  }
  if (int64_t constant = poly.constantTerm(); constant || !sum)
    append(mlir::getAffineConstantExpr(constant, context));
  return sum;
}

} // namespace kbopt::analysis
