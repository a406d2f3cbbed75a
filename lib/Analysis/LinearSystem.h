//===- LinearSystem.h - Integer systems over two access instances -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns turning polynomials over two threads' indices into an integer system that
// MLIR's Presburger library can decide. Products that stay non-linear become
// free variables, which only ever adds solutions: emptiness remains a proof.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_LINEARSYSTEM_H
#define KBOPT_LIB_ANALYSIS_LINEARSYSTEM_H

#include "kb-opt/Analysis/AccessQueries.h"
#include "kb-opt/Analysis/Poly.h"

namespace kbopt::analysis {

class LinearSystem {
public:
  explicit LinearSystem(const LaunchValues &values) : values(values) {}

  /// Which executions share a variable.
  enum class Sharing { Apart, SameThread, SameIteration };

  /// \p expr of \p op as executed by \p instance (0 or 1). Dimensions are each
  /// instance's own, launch-invariant symbols are shared, others are each
  /// instance's own unless \p sharing says so.
  Poly import(mlir::Operation *op, mlir::AffineExpr expr, llvm::ArrayRef<mlir::StringAttr> loops,
              llvm::ArrayRef<mlir::StringAttr> symbols, unsigned instance);
  /// Limits of thread and block indices and of the loops around \p access, and
  /// its domain. False if something was lost.
  bool addDomain(kb::AccessOp access, unsigned instance);

  void addInequality(const Poly &poly); ///< poly >= 0
  void addEquality(const Poly &poly);   ///< poly == 0

  VarId dim(unsigned instance, unsigned position);
  Poly blockStart(unsigned instance, unsigned component); ///< bid.c * bdim.c
  Poly blockDim(unsigned component);

  /// False, and the system is not exact any more, where the question would take long.
  bool isEmpty() const;
  /// Whether every solution is one of the program's: nothing was relaxed.
  bool isExact() const { return exact && isDecided; }

  Sharing sharing = Sharing::Apart;

private:
  struct Row {
    std::map<unsigned, int64_t> coefficients; ///< by column
    int64_t constant = 0;
  };
  VarId named(const std::string &name);
  std::optional<Row> linear(const Poly &poly);
  unsigned column(const Poly::Monomial &monomial);
  Poly symbol(mlir::Operation *op, llvm::StringRef name, unsigned position, unsigned instance);

  const LaunchValues &values;
  std::map<std::string, VarId> ids;
  std::map<Poly::Monomial, unsigned> columns;
  std::vector<Row> inequalities, equalities;
  mutable bool isDecided = true;
  bool exact = true;
};

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_LINEARSYSTEM_H
