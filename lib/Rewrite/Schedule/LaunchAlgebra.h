//===- LaunchAlgebra.h - What a launch shows of its sizes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns proofs at compile time that a requirement of a nest holds at one launch: sizes
// as polynomials over host expressions that cannot have changed, and grids that are a
// count over the block, rounded up.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHALGEBRA_H
#define KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHALGEBRA_H

#include "LaunchText.h"
#include "llvm/ADT/FoldingSet.h"

namespace kbopt {

class LaunchAlgebra {
public:
  LaunchAlgebra(const PassContext &context, const LaunchText &launch);

  /// \p requirement >= 0 at the launch: true and false are proofs, none is unknown.
  std::optional<bool> holds(kb::ExprAttr requirement);
  /// Whether a condition around the launch, of whatever form, shows that \p requirement >= 0.
  bool isTested(kb::ExprAttr requirement);

private:
  /// Coefficients of products of leaves.
  using Monomial = std::vector<unsigned>;
  using Polynomial = std::map<Monomial, int64_t>;

  static Polynomial constant(int64_t value);
  static Polynomial product(const Polynomial &a, const Polynomial &b);
  static Polynomial sum(Polynomial a, const Polynomial &b, int64_t factor = 1);
  /// \p dividend by the product \p divisor, which a requirement of its own takes to be positive;
  /// none if that leaves a rest.
  static std::optional<Polynomial> quotient(const Polynomial &dividend, const Polynomial &divisor);
  static std::optional<int64_t> constantOf(const Polynomial &polynomial);
  Polynomial newLeaf() { return {{{leaves++}, 1}}; }
  Polynomial namedLeaf(llvm::StringRef name);
  Polynomial remainder(const Polynomial &dividend, const Polynomial &divisor);

  Polynomial ofHost(const clang::Expr *expr, bool throughVariable);
  Polynomial ofName(llvm::StringRef name);
  Polynomial ofMap(mlir::AffineExpr expr, kb::ExprAttr space);
  Polynomial withCoveredGrid(Polynomial polynomial);

  const PassContext &context;
  const LaunchText &launch;
  unsigned leaves = 0;
  std::vector<std::pair<llvm::FoldingSetNodeID, unsigned>> expressions;
  std::map<std::string, Polynomial> names;
  std::map<std::pair<Polynomial, Polynomial>, Polynomial> remainders;
  /// By dimension: the leaf that gridDim is, the block, and the count that both cover.
  struct Cover {
    unsigned grid;
    Polynomial block, count;
    /// The count was rounded up in the arithmetic of int, where it did not overflow: grid times
    /// block is an int.
    bool isInt;
  };
  bool isBoundedByInt(const Polynomial &polynomial) const;
  std::vector<Cover> covers;
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHALGEBRA_H
