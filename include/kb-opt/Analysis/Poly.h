//===- Poly.h - Polynomials over the index space ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns exact integer polynomials over the variables of a kernel's index space,
// and what is known of the variables' ranges.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ANALYSIS_POLY_H
#define KBOPT_ANALYSIS_POLY_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kbopt::analysis {

using VarId = unsigned;

/// The variables every kernel has; further ones follow.
enum FixedVar : VarId { TidVar = 0, BidVar = 3, BdimVar = 6, GdimVar = 9, FirstOtherVar = 12 };

/// A sum of products of variables with integer coefficients. Arithmetic that
/// overflows 64 bits makes the result invalid.
class Poly {
public:
  using Monomial = llvm::SmallVector<VarId, 3>; ///< sorted

  Poly() = default;
  static Poly constant(int64_t value);
  static Poly variable(VarId var);

  bool isValid() const { return valid; }
  bool isConstant() const {
    return terms.empty() || (terms.size() == 1 && terms.begin()->first.empty());
  }
  int64_t constantTerm() const;
  const std::map<Monomial, int64_t> &monomials() const { return terms; }

  Poly operator+(const Poly &other) const;
  Poly operator-(const Poly &other) const { return *this + other * Poly::constant(-1); }
  Poly operator*(const Poly &other) const;
  bool operator==(const Poly &other) const = default;

  /// The polynomial that \p var is multiplied by; invalid if \p var occurs
  /// to a higher power.
  Poly coefficientOf(VarId var) const;
  /// Without the terms that contain \p var.
  Poly without(VarId var) const;
  bool contains(VarId var) const;

private:
  void add(const Monomial &monomial, int64_t coefficient);
  std::map<Monomial, int64_t> terms;
  bool valid = true;
};

/// A closed interval; saturates far outside 64 bits.
struct Interval {
  __int128 low, high;
};

/// What all launches in sight say of one kernel; without any, the limits of the
/// hardware (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
struct LaunchRanges {
  std::array<Interval, 3> block = {{{1, 1024}, {1, 1024}, {1, 64}}};
  std::array<Interval, 3> grid = {{{1, INT32_MAX}, {1, 65535}, {1, 65535}}};
  /// gridDim.x times the threads of a block is at most 2^31.
  bool fits31 = false;
  /// By position; nothing where a launch does not show the value.
  std::map<unsigned, Interval> arguments;
};

/// The variables of one kernel.
class VarTable {
public:
  explicit VarTable(const LaunchRanges &launches = {});

  /// A loop's iteration number.
  VarId addLoop(int64_t maxTrips /* -1: unknown */);
  /// A value shared by the block, between \p low and \p high.
  VarId addSymbol(Interval range);
  /// floor(dividend / divisor) and dividend - divisor * that. The divisor is
  /// positive.
  VarId floorDiv(const Poly &dividend, const Poly &divisor);
  VarId mod(const Poly &dividend, const Poly &divisor);

  bool isDim(VarId var) const; ///< differs between threads or iterations
  bool isSymbolic(const Poly &poly) const;
  /// Every product has at most one dimension.
  bool isAffine(const Poly &poly) const;

  /// Bounds of \p poly. Uses that a block has at most 1024 threads, and that
  /// gridDim.x times the threads of a block fits 31 bits; where the launches do
  /// not prove the latter, it is noted in `assumed`.
  Interval range(const Poly &poly);
  bool assumed = false;

  /// Whether \p poly could leave 31 bits even if every named symbol, block index
  /// and iteration were 1: what a hash does, and index arithmetic does not.
  bool isWild(const Poly &poly);

  /// Whether \p var occurs in \p poly, also inside divisions.
  bool dependsOn(const Poly &poly, VarId var) const;
  /// All loop and symbol variables of \p poly, also inside divisions.
  void collectLeaves(const Poly &poly, std::set<VarId> &leaves) const;

  struct Division {
    Poly dividend, divisor;
    bool isMod;
  };
  const Division *division(VarId var) const;

  /// \p leaf gives the expression of each undivided variable. Null if \p poly is not
  /// affine.
  mlir::AffineExpr toAffine(const Poly &poly, mlir::MLIRContext *context,
                            llvm::function_ref<mlir::AffineExpr(VarId)> leaf) const;

private:
  struct Var {
    bool isDim;
    Interval range;
    std::optional<Division> division;
    bool isLoop = false;
  };
  /// Bounds of the number of a thread along \p component of the grid.
  Interval gridThreads(unsigned component);
  bool isBlockShape(VarId var) const;
  Interval rangeOfProduct(const Poly::Monomial &monomial);
  VarId addDivision(Division division);
  std::vector<Var> vars;
  bool fits31;
};

} // namespace kbopt::analysis

#endif // KBOPT_ANALYSIS_POLY_H
