//===- Facts.cpp - What holds where a statement is reached ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the questions to Presburger arithmetic and the equations that are put in before.
//
//===----------------------------------------------------------------------===//
#include "Facts.h"

#include "mlir/Analysis/Presburger/IntegerRelation.h"

namespace kbopt::raise {

Facts Facts::with(llvm::ArrayRef<Constraint> more) const {
  Facts all = *this;
  all.known.insert(all.known.end(), more.begin(), more.end());
  return all;
}

/// The sides of "poly is not 0", or what "poly >= 0" is not.
static Constraints opposites(const Constraint &constraint) {
  Constraint below{Poly::constant(-1) - constraint.poly, false};
  if (!constraint.isEquality)
    return {below};
  return {below, {constraint.poly - Poly::constant(1), false}};
}

bool Facts::implies(const Constraint &constraint) const {
  const Poly &poly = constraint.poly;
  if (!poly.isValid())
    return false;
  if (poly.isConstant() && (constraint.isEquality ? poly == Poly() : poly.constantTerm() >= 0))
    return true;
  if (!constraint.isEquality && space.isWithin(poly, 0, INT64_MAX))
    return true;
  return llvm::all_of(opposites(constraint),
                      [&](const Constraint &other) { return with(other).isEmpty(); });
}

bool Facts::excludes(const Constraint &constraint) const {
  return constraint.poly.isValid() && with(constraint).isEmpty();
}

bool Facts::impliesOneOf(llvm::ArrayRef<Constraints> conjunctions) const {
  if (isEmpty())
    return true;
  if (conjunctions.empty())
    return false;
  for (const Constraint &each : conjunctions.front())
    for (const Constraint &other : opposites(each))
      if (!with(other).impliesOneOf(conjunctions.drop_front()))
        return false;
  return true;
}

bool Facts::areEqual(const Poly &a, const Poly &b) const {
  Poly difference = a - b;
  for (const Constraint &each : known) {
    if (difference == Poly())
      break;
    if (!each.isEquality)
      continue;
    for (auto &[monomial, coefficient] : each.poly.monomials()) {
      if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1))
        continue;
      Poly rest = each.poly - Poly::variable(monomial[0]) * Poly::constant(coefficient);
      if (space.dependsOn(rest, monomial[0]))
        continue;
      Poly factor = difference.coefficientOf(monomial[0]);
      difference = difference.without(monomial[0]) + factor * rest * Poly::constant(-coefficient);
      break;
    }
  }
  return difference == Poly();
}

std::vector<Poly> Facts::equations() const {
  std::vector<Poly> zeros;
  for (const Constraint &each : known)
    if (each.isEquality && each.poly.isValid())
      zeros.push_back(each.poly);
  return zeros;
}

Constraints Facts::open(llvm::ArrayRef<Constraint> all) const {
  Constraints left;
  for (const Constraint &each : all)
    if (!implies(each))
      left.push_back(each);
  return left;
}

bool Facts::isEmpty() const {
  using namespace mlir::presburger;
  std::map<Poly::Monomial, unsigned> columns;
  Constraints rows;
  std::set<VarId> divisions;
  auto add = [&](const Constraint &each) {
    if (each.poly.isValid())
      rows.push_back(each);
  };
  for (const Constraint &each : known)
    add(each);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Poly poly = rows[i].poly; // rows grows
    for (auto &[monomial, coefficient] : poly.monomials()) {
      if (!monomial.empty())
        columns.try_emplace(monomial, columns.size());
      for (VarId var : monomial) {
        const Space::Variable &known = space[var];
        if (known.kind != Space::FloorDiv || !known.divisor.isConstant() ||
            !divisions.insert(var).second)
          continue;
        Poly rest = known.dividend - Poly::variable(var) * known.divisor;
        add({rest, false});
        add({known.divisor - rest - Poly::constant(1), false});
      }
    }
  }
  IntegerPolyhedron set(PresburgerSpace::getSetSpace(columns.size()));
  llvm::SmallVector<int64_t> dense(columns.size() + 1);
  for (const Constraint &each : rows) {
    std::fill(dense.begin(), dense.end(), 0);
    for (auto &[monomial, coefficient] : each.poly.monomials())
      (monomial.empty() ? dense.back() : dense[columns[monomial]]) = coefficient;
    each.isEquality ? set.addEquality(dense) : set.addInequality(dense);
  }
  auto addLimit = [&](unsigned column, int64_t sign, int64_t constant) {
    std::fill(dense.begin(), dense.end(), 0);
    dense[column] = sign;
    dense.back() = constant;
    set.addInequality(dense);
  };
  for (auto &[monomial, column] : columns) {
    // Factors that are not negative have such a product.
    if (llvm::all_of(monomial, [&](VarId var) { return space[var].low.value_or(-1) >= 0; }))
      addLimit(column, 1, 0);
    if (monomial.size() > 1)
      continue;
    const Space::Variable &variable = space[monomial[0]];
    if (variable.low)
      addLimit(column, 1, -*variable.low);
    if (variable.high)
      addLimit(column, -1, *variable.high);
  }
  return set.isEmpty() || set.isIntegerEmpty();
}

} // namespace kbopt::raise
