//===- NestSystem.cpp - Integer systems over two instances of a nest ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns polynomials, their linearisation, and the call into Presburger arithmetic.
//
//===----------------------------------------------------------------------===//
#include "NestSystem.h"

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/Support/MathExtras.h"
#include <ctime>
#include <set>

using namespace mlir;

namespace kbopt::raise {

Polynomial Polynomial::constant(int64_t value) {
  Polynomial result;
  if (value)
    result.terms[{}] = value;
  return result;
}

Polynomial Polynomial::operator+(const Polynomial &other) const {
  Polynomial sum = *this;
  sum.valid &= other.valid;
  for (const auto &[monomial, coefficient] : other.terms) {
    int64_t &to = sum.terms[monomial];
    sum.valid &= !llvm::AddOverflow(to, coefficient, to);
    if (!to)
      sum.terms.erase(monomial);
  }
  return sum;
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  Polynomial product;
  for (const auto &[left, a] : terms)
    for (const auto &[right, b] : other.terms) {
      Polynomial term;
      Monomial monomial = left;
      monomial.insert(monomial.end(), right.begin(), right.end());
      llvm::sort(monomial);
      term.valid = !llvm::MulOverflow(a, b, term.terms[monomial]);
      product = product + term;
    }
  product.valid &= valid && other.valid;
  return product;
}

std::pair<Polynomial, Polynomial> Polynomial::splitBy(const Monomial &factor,
                                                      int64_t number) const {
  std::pair<Polynomial, Polynomial> parts;
  for (const auto &[monomial, coefficient] : terms) {
    bool isMultiple = std::includes(monomial.begin(), monomial.end(), factor.begin(), factor.end());
    // Rounded to the nearest: 1025 * i is 1024 * i + i.
    int64_t times =
        isMultiple ? (coefficient + (coefficient < 0 ? -(number / 2) : number / 2)) / number : 0;
    if (int64_t left = coefficient - times * number)
      parts.second.terms[monomial] = left;
    if (!times)
      continue;
    Monomial rest;
    std::set_difference(monomial.begin(), monomial.end(), factor.begin(), factor.end(),
                        std::back_inserter(rest));
    parts.first.terms[rest] = times;
  }
  return parts;
}

bool NestSystem::isWithin(const Polynomial &poly, const Polynomial &bound) const {
  NestSystem below = *this, above = *this;
  below.add(Polynomial::constant(-1) - poly);
  above.add(poly - bound);
  return below.isEmpty() && above.isEmpty();
}

bool NestSystem::becomeDigit(std::pair<Polynomial, Polynomial> &parts,
                             const Polynomial &extent) const {
  for (int64_t borrowed : {0, 1, -1}) {
    Polynomial rest = parts.second + extent * Polynomial::constant(borrowed);
    if (!isWithin(rest, extent))
      continue;
    parts = {parts.first - Polynomial::constant(borrowed), rest};
    return true;
  }
  return false;
}

void NestSystem::addEqualByDigits(const Polynomial &a, const Polynomial &b, unsigned depth) {
  // Candidates for n: what dimensions are multiplied by, the innermost and so shortest first.
  std::set<std::pair<Polynomial::Monomial, int64_t>> factors;
  for (const Polynomial *poly : {&a, &b})
    for (const auto &[monomial, coefficient] : poly->terms)
      for (size_t i = 0; i < monomial.size(); ++i) {
        Polynomial::Monomial factor = monomial;
        factor.erase(factor.begin() + i);
        for (int64_t number : {std::abs(coefficient), int64_t(1)})
          if (number > 1 || !factor.empty())
            factors.insert({factor, number});
        if (monomial.size() > 1)
          factors.insert({{monomial[i]}, 1});
      }
  std::vector<std::pair<Polynomial::Monomial, int64_t>> ordered(factors.begin(), factors.end());
  llvm::stable_sort(ordered, [](auto &x, auto &y) { return x.first.size() < y.first.size(); });
  for (const auto &[factor, number] : ordered) {
    if (depth > 4 || !a.valid || !b.valid)
      break;
    auto partsA = a.splitBy(factor, number), partsB = b.splitBy(factor, number);
    Polynomial extent;
    extent.terms[factor] = number;
    bool splits = !partsA.first.terms.empty() || !partsB.first.terms.empty();
    bool isRest = partsA.second.terms != a.terms || partsB.second.terms != b.terms;
    if (!splits || !isRest || !becomeDigit(partsA, extent) || !becomeDigit(partsB, extent))
      continue;
    addEqualByDigits(partsA.first, partsB.first, depth + 1);
    addEqualByDigits(partsA.second, partsB.second, depth + 1);
    return;
  }
  addEqual(a, b);
}

Polynomial NestSystem::dim(unsigned position, unsigned instance) {
  return Polynomial::variable(id("d" + std::to_string(position) + "/" + std::to_string(instance)));
}

/// The text of \p poly, the same for equal polynomials.
static std::string key(const Polynomial &poly) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[monomial, coefficient] : poly.terms) {
    os << " " << coefficient;
    for (unsigned variable : monomial)
      os << "*" << variable;
  }
  return text;
}

Polynomial NestSystem::import(AffineExpr expr, ArrayRef<StringAttr> symbols, unsigned instance) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Polynomial::constant(constant.getValue());
  if (auto dimension = dyn_cast<AffineDimExpr>(expr))
    return dim(dimension.getPosition() - kb::firstLoopDim, instance);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    StringRef name = kb::symbolName(symbol.getPosition(), symbols);
    std::string key = "s" + name.str();
    for (auto known : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      if (known.getName() == name && known.getOrigin() == kb::SymbolOrigin::Varying)
        key += "/" + std::to_string(instance);
    Polynomial value = Polynomial::variable(id(key));
    if (symbol.getPosition() < kb::firstNamedSymbol)
      add(value - Polynomial::constant(1));
    return value;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Polynomial left = import(binary.getLHS(), symbols, instance),
             right = import(binary.getRHS(), symbols, instance);
  if (expr.getKind() == AffineExprKind::Add)
    return left + right;
  if (expr.getKind() == AffineExprKind::Mul)
    return left * right;
  // left = right * quotient + rest, 0 <= rest < right.
  Polynomial quotient = Polynomial::variable(id("q" + key(left) + " /" + key(right)));
  Polynomial rest = left - right * quotient;
  add(rest);
  add(right - rest - Polynomial::constant(1));
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return quotient;
  if (expr.getKind() == AffineExprKind::Mod)
    return rest;
  Polynomial unknown;
  unknown.valid = false;
  return unknown;
}

Polynomial NestSystem::import(kb::ExprAttr expr, unsigned instance) {
  return import(expr.getExpr(), expr.getSymbols(), instance);
}

void NestSystem::addDomain(kb::DomainAttr domain, unsigned instance) {
  if (!domain || domain.isUnknown())
    return;
  for (unsigned i = 0; i < domain.getSet().getNumConstraints(); ++i)
    add(import(domain.getSet().getConstraint(i), domain.getSymbols(), instance),
        domain.getSet().isEq(i));
}

void NestSystem::addInstance(Operation *op, unsigned instance) {
  auto addRange = [&](unsigned position, kb::ExprAttr extent) {
    Polynomial index = dim(position, instance);
    add(index);
    add(import(extent, instance) - index - Polynomial::constant(1));
  };
  unsigned position = 0;
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    addRange(position++, extent);
  addDomain(nest.getDomainAttr(), instance);
  if (auto requirements = nest.getRequirements())
    for (auto each : requirements->getAsRange<kb::ExprAttr>())
      add(import(each, instance));
  SmallVector<Operation *> around;
  for (Operation *up = op->getParentOp(); up != nest.getOperation(); up = up->getParentOp())
    around.push_back(up);
  for (Operation *up : llvm::reverse(around)) {
    if (auto over = dyn_cast<kb::OverOp>(up))
      addRange(position++, over.getExtent());
    else if (auto when = dyn_cast<kb::WhenOp>(up))
      addDomain(when.getDomainAttr(), instance);
  }
}

void NestSystem::add(const Polynomial &poly, bool isEquality) {
  if (!poly.valid)
    return;
  Row row;
  row.isEquality = isEquality;
  for (const auto &[monomial, coefficient] : poly.terms) {
    if (monomial.empty())
      row.constant = coefficient;
    else
      row.coefficients[columns.try_emplace(monomial, columns.size()).first->second] = coefficient;
  }
  rows.push_back(std::move(row));
}

double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// How many columns the search for an integer point is quick with.
static constexpr unsigned manyColumns = 10;

std::set<unsigned> NestSystem::symbols(bool isVarying) const {
  std::set<unsigned> found;
  for (auto symbol : kb::NestOp(nest).getSymbols().getAsRange<kb::SymbolAttr>())
    for (StringRef instance : {"", "/0", "/1"})
      if (auto at = ids.find(("s" + symbol.getName() + instance).str());
          at != ids.end() && isVarying != instance.empty())
        found.insert(at->second);
  return found;
}

bool NestSystem::isMetWhateverTheSizes() const {
  std::set<unsigned> params = symbols(false), varying = symbols(true);
  std::vector<unsigned> strides;
  for (const auto &[monomial, column] : columns) {
    bool isProduct = llvm::any_of(monomial, [&](unsigned id) { return !params.count(id); });
    for (unsigned id : monomial) {
      if (varying.count(id))
        return false;
      if (isProduct && params.count(id) && !llvm::is_contained(strides, id))
        strides.push_back(id);
    }
  }
  constexpr size_t mostStrides = 3;
  if (strides.size() > mostStrides)
    return false;
  llvm::sort(strides);
  do
    for (int64_t least : {1, 64}) {
      std::map<unsigned, int64_t> sizes;
      for (unsigned id : params)
        sizes[id] = 64;
      int64_t stride = least;
      for (unsigned id : strides) {
        sizes[id] = stride;
        stride *= 64;
      }
      if (!isMetAt(sizes))
        return false;
    }
  while (std::next_permutation(strides.begin(), strides.end()));
  return true;
}

bool NestSystem::isMetAt(const std::map<unsigned, int64_t> &sizes) const {
  // Each monomial as a factor and what is left of it.
  std::map<unsigned, std::pair<Polynomial::Monomial, int64_t>> parts;
  std::map<Polynomial::Monomial, unsigned> left;
  for (const auto &[monomial, column] : columns) {
    auto &[rest, factor] = parts[column];
    factor = 1;
    for (unsigned variable : monomial) {
      auto size = sizes.find(variable);
      if (size == sizes.end())
        rest.push_back(variable);
      else if (llvm::MulOverflow(factor, size->second, factor))
        return false;
    }
    if (!rest.empty())
      left.try_emplace(rest, left.size());
  }
  if (left.size() > manyColumns)
    return false;
  presburger::IntegerPolyhedron set(presburger::PresburgerSpace::getSetSpace(left.size()));
  for (const Row &row : rows) {
    SmallVector<int64_t> dense(left.size() + 1, 0);
    dense.back() = row.constant;
    for (auto [column, coefficient] : row.coefficients) {
      const auto &[rest, factor] = parts.at(column);
      dense[rest.empty() ? left.size() : left.at(rest)] += coefficient * factor;
    }
    row.isEquality ? set.addEquality(dense) : set.addInequality(dense);
  }
  return !set.isIntegerEmpty();
}

bool NestSystem::isEmpty() const {
  // One question may take much longer than the deadline allows where the system is large.
  constexpr size_t mostColumns = 40, mostRows = 120;
  if (threadSeconds() > deadline || columns.size() > mostColumns || rows.size() > mostRows)
    return false;
  presburger::IntegerPolyhedron set(presburger::PresburgerSpace::getSetSpace(columns.size()));
  for (const Row &row : rows) {
    SmallVector<int64_t> dense(columns.size() + 1, 0);
    for (auto [column, coefficient] : row.coefficients)
      dense[column] = coefficient;
    dense.back() = row.constant;
    if (row.isEquality)
      set.addEquality(dense);
    else
      set.addInequality(dense);
  }
  // Rational emptiness is quick. The search for an integer point can take long in many dimensions;
  // without it the answer is still a proof where it says empty.
  if (set.isEmptyByGCDTest() || presburger::Simplex(set).isEmpty())
    return true;
  return columns.size() <= manyColumns && set.isIntegerEmpty();
}

} // namespace kbopt::raise
