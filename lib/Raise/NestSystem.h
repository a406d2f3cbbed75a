//===- NestSystem.h - Integer systems over two instances of a nest -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns turning what is known of two executions of raised statements into an integer
// system that MLIR's Presburger library can decide. Products become free variables, which only ever
// adds solutions: emptiness remains a proof. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_NESTSYSTEM_H
#define KBOPT_LIB_RAISE_NESTSYSTEM_H

#include "kb-opt/IR/Kb.h"
#include <limits>
#include <map>

namespace kbopt::raise {

/// A sum of products of variables. Overflow makes it invalid, and an invalid constraint is left
/// out.
struct Polynomial {
  using Monomial = std::vector<unsigned>; ///< sorted
  std::map<Monomial, int64_t> terms;
  bool valid = true;

  static Polynomial constant(int64_t value);
  static Polynomial variable(unsigned id) { return {{{{id}, 1}}, true}; }
  Polynomial operator+(const Polynomial &other) const;
  Polynomial operator-(const Polynomial &other) const { return *this + other * constant(-1); }
  Polynomial operator*(const Polynomial &other) const;
  /// Quotient and rest by \p number times \p factor, of the terms that contain it.
  std::pair<Polynomial, Polynomial> splitBy(const Monomial &factor, int64_t number) const;
};

/// Processor time that the calling thread has used so far. Unlike the time on the clock, it does
/// not depend on what else the machine does.
double threadSeconds();

class NestSystem {
public:
  explicit NestSystem(kb::NestOp nest) : nest(nest) {}

  /// That \p op is executed, as \p instance (0 or 1): extents, domains, requirements.
  void addInstance(mlir::Operation *op, unsigned instance);
  /// \p expr with the dimensions and varying symbols of \p instance.
  Polynomial import(kb::ExprAttr expr, unsigned instance);
  /// Dimension number \p position of kb::nestDims.
  Polynomial dim(unsigned position, unsigned instance);
  /// The varying symbol \p name.
  Polynomial varying(mlir::StringAttr name, unsigned instance) {
    return Polynomial::variable(id("s" + name.str() + "/" + std::to_string(instance)));
  }
  void add(const Polynomial &poly, bool isEquality = false); ///< poly >= 0 or == 0
  void addEqual(const Polynomial &a, const Polynomial &b) { add(a - b, true); }
  /// The same; where both are q * n + r with 0 <= r < n for certain, as two equations.
  void addEqualByDigits(const Polynomial &a, const Polynomial &b, unsigned depth = 0);

  /// Empty for certain; never once the thread has spent `deadline` seconds.
  bool isEmpty() const;
  /// Whether there are integer solutions for all of several sizes: with every parameter of the
  /// kernel alike, and with those that dimensions are multiplied by far from each other. False
  /// where loaded values take part, and where that is not found out quickly.
  bool isMetWhateverTheSizes() const;
  double deadline = std::numeric_limits<double>::infinity();

private:
  struct Row {
    std::map<unsigned, int64_t> coefficients;
    int64_t constant = 0;
    bool isEquality = false;
  };
  Polynomial import(mlir::AffineExpr expr, llvm::ArrayRef<mlir::StringAttr> symbols,
                    unsigned instance);
  void addDomain(kb::DomainAttr domain, unsigned instance);
  bool isWithin(const Polynomial &poly, const Polynomial &bound) const;
  /// Whether the rest of \p parts lies in 0 <= rest < \p extent, after one \p extent more or less
  /// if need be.
  bool becomeDigit(std::pair<Polynomial, Polynomial> &parts, const Polynomial &extent) const;
  /// The ids of the nest's symbols that are the same for all points, or differ between them.
  std::set<unsigned> symbols(bool isVarying) const;
  bool isMetAt(const std::map<unsigned, int64_t> &sizes) const;
  unsigned id(const std::string &name) { return ids.try_emplace(name, ids.size()).first->second; }

  kb::NestOp nest;
  std::map<std::string, unsigned> ids;
  std::map<Polynomial::Monomial, unsigned> columns;
  std::vector<Row> rows;
};

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_NESTSYSTEM_H
