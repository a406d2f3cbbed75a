//===- LinearSystem.cpp - Integer systems over two access instances --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns linearisation, the limits of the index space, and the call into
// Presburger arithmetic.
//
//===----------------------------------------------------------------------===//
#include "LinearSystem.h"

#include "mlir/Analysis/Presburger/IntegerRelation.h"

using namespace mlir;

namespace kbopt::analysis {

VarId LinearSystem::named(const std::string &name) {
  return ids.try_emplace(name, ids.size()).first->second;
}

VarId LinearSystem::dim(unsigned instance, unsigned position) {
  return named("dim" + std::to_string(position) + "/" + std::to_string(instance));
}

Poly LinearSystem::blockDim(unsigned component) {
  return values.block[component] ? Poly::constant(*values.block[component])
                                 : Poly::variable(named("bdim" + std::to_string(component)));
}

Poly LinearSystem::blockStart(unsigned instance, unsigned component) {
  return Poly::variable(dim(instance, kb::bidDim + component)) * blockDim(component);
}

Poly LinearSystem::symbol(Operation *op, StringRef name, unsigned position, unsigned instance) {
  if (position < kb::gdimSymbol)
    return blockDim(position);
  if (position < kb::firstNamedSymbol) {
    unsigned c = position - kb::gdimSymbol;
    return values.grid[c] ? Poly::constant(*values.grid[c])
                          : Poly::variable(named("gdim" + std::to_string(c)));
  }
  if (auto it = values.symbols.find(name); it != values.symbols.end())
    return Poly::constant(it->second);
  bool varying = true;
  for (auto known : op->getParentOfType<kb::KernelOp>().getSymbols().getAsRange<kb::SymbolAttr>())
    if (known.getName() == name)
      varying = known.getOrigin() == kb::SymbolOrigin::Varying;
  std::string id = "symbol " + name.str();
  if (varying && sharing != Sharing::SameIteration) {
    id += "/" + std::to_string(instance);
    exact = false;
  }
  return Poly::variable(named(id));
}

Poly LinearSystem::import(Operation *op, AffineExpr expr, ArrayRef<StringAttr> loops,
                          ArrayRef<StringAttr> symbols, unsigned instance) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Poly::constant(constant.getValue());
  if (auto dimension = dyn_cast<AffineDimExpr>(expr))
    return Poly::variable(dim(instance, dimension.getPosition()));
  if (auto used = dyn_cast<AffineSymbolExpr>(expr))
    return symbol(op, kb::symbolName(used.getPosition(), symbols), used.getPosition(), instance);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Poly left = import(op, binary.getLHS(), loops, symbols, instance);
  Poly right = import(op, binary.getRHS(), loops, symbols, instance);
  if (expr.getKind() == AffineExprKind::Add)
    return left + right;
  if (expr.getKind() == AffineExprKind::Mul)
    return left * right;
  // left = divisor * quotient + rest, 0 <= rest < divisor.
  std::string key;
  llvm::raw_string_ostream os(key);
  for (const Poly *part : {&left, &right}) {
    os << "div";
    for (auto &[monomial, coefficient] : part->monomials()) {
      os << " " << coefficient;
      for (VarId var : monomial)
        os << "*" << var;
    }
  }
  bool isNew = !ids.count(key);
  Poly quotient = Poly::variable(named(key));
  Poly rest = left - right * quotient;
  if (isNew) {
    addInequality(rest);
    addInequality(right - rest - Poly::constant(1));
  }
  switch (expr.getKind()) {
  case AffineExprKind::FloorDiv:
    return quotient;
  case AffineExprKind::Mod:
    return rest;
  default:
    break;
  }
  // ceil(a / b) is not produced by the import.
  exact = false;
  return Poly::variable(named("ceil " + key));
}

bool LinearSystem::addDomain(kb::AccessOp access, unsigned instance) {
  for (unsigned c = 0; c < 3; ++c) {
    Poly tid = Poly::variable(dim(instance, kb::tidDim + c));
    Poly bid = Poly::variable(dim(instance, kb::bidDim + c));
    Poly one = Poly::constant(1), start = blockStart(instance, c);
    addInequality(tid);
    addInequality(blockDim(c) - tid - one);
    addInequality(bid);
    addInequality(symbol(access, "", kb::gdimSymbol + c, instance) - bid - one);
    addInequality(blockDim(c) - one);
    // With an unknown block size the product stands for itself: it is not
    // negative, and not below the block's number.
    if (!values.block[c])
      addInequality(start - bid);
  }
  bool complete = true;
  for (auto [position, loop] : llvm::enumerate(kb::enclosingLoops(access))) {
    Poly iteration = Poly::variable(dim(instance, kb::firstLoopDim + position));
    addInequality(iteration);
    if (loop.getTripCount())
      addInequality(Poly::constant(*loop.getTripCount() - 1) - iteration);
    else if (kb::ExprAttr trip = loop.getTripAttr())
      addInequality(import(access, trip.getExpr(), trip.getLoops(), trip.getSymbols(), instance) -
                    iteration - Poly::constant(1));
    else
      complete = false;
  }
  kb::DomainAttr domain = access.getDomainAttr();
  if (!domain)
    return complete;
  for (unsigned i = 0; i < domain.getSet().getNumConstraints(); ++i) {
    Poly poly = import(access, domain.getSet().getConstraint(i), domain.getLoops(),
                       domain.getSymbols(), instance);
    if (domain.getSet().isEq(i))
      addEquality(poly);
    else
      addInequality(poly);
  }
  return complete && domain.getExact();
}

unsigned LinearSystem::column(const Poly::Monomial &monomial) {
  if (monomial.size() > 1)
    exact = false;
  return columns.try_emplace(monomial, columns.size()).first->second;
}

std::optional<LinearSystem::Row> LinearSystem::linear(const Poly &poly) {
  if (!poly.isValid())
    return std::nullopt;
  Row row;
  for (auto &[monomial, coefficient] : poly.monomials()) {
    if (monomial.empty())
      row.constant = coefficient;
    else
      row.coefficients[column(monomial)] = coefficient;
  }
  return row;
}

void LinearSystem::addInequality(const Poly &poly) {
  if (auto row = linear(poly))
    inequalities.push_back(std::move(*row));
  else
    exact = false;
}

void LinearSystem::addEquality(const Poly &poly) {
  if (auto row = linear(poly))
    equalities.push_back(std::move(*row));
  else
    exact = false;
}

bool LinearSystem::isEmpty() const {
  presburger::IntegerPolyhedron set(presburger::PresburgerSpace::getSetSpace(columns.size()));
  auto dense = [&](const Row &row) {
    SmallVector<int64_t> values(columns.size() + 1, 0);
    for (auto [column, coefficient] : row.coefficients)
      values[column] = coefficient;
    values.back() = row.constant;
    return values;
  };
  for (const Row &row : inequalities)
    set.addInequality(dense(row));
  for (const Row &row : equalities)
    set.addEquality(dense(row));
  if (set.isEmpty())
    return true;
  // The search for an integer point has no bound: with factors that an index of four digits is
  // divided by it has taken minutes.
  constexpr int64_t largeFactor = 1 << 16;
  auto hasLarge = [](const Row &row) {
    return llvm::any_of(row.coefficients, [](const auto &each) {
      return each.second > largeFactor || each.second < -largeFactor;
    });
  };
  isDecided = llvm::none_of(inequalities, hasLarge) && llvm::none_of(equalities, hasLarge);
  return isDecided && set.isIntegerEmpty();
}

} // namespace kbopt::analysis
