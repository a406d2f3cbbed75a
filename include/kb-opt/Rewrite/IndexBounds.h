//===- IndexBounds.h - How large the integers of a kernel get ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns upper bounds of integer expressions of a kernel in terms of what a launch passes,
// and the conditions under which the host can promise them. Every bound includes that the
// expression is not negative.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_INDEXBOUNDS_H
#define KBOPT_REWRITE_INDEXBOUNDS_H

#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Rewrite/Coverage.h"

namespace kbopt {

/// A sum of products of launch values, all of them at least 1, with coefficients that are not
/// negative.
class LaunchBound {
public:
  static LaunchBound constant(double value);
  /// \p text is C++ at the launch.
  static LaunchBound value(llvm::StringRef text);

  LaunchBound operator+(const LaunchBound &other) const;
  LaunchBound operator*(const LaunchBound &other) const;
  /// An upper bound of the quotient by a value that is \p divisor exactly.
  LaunchBound dividedBy(const LaunchBound &divisor) const;
  bool operator==(const LaunchBound &other) const = default;
  /// The number, if no launch value is in it.
  std::optional<double> number() const;
  /// Whether it is at most \p other whatever the launch values are.
  bool isWithin(const LaunchBound &other) const;
  /// C++ of type double at the launch.
  std::string text() const;

private:
  /// By the factors of a product, sorted.
  std::map<std::vector<std::string>, double> terms;
};

/// Bounds for one launch. Refers to its arguments, which must outlive it.
class IndexBounds {
public:
  IndexBounds(const PassContext &context, const KernelView &kernel, const LaunchFact &launch);

  /// A bound of \p expr in every thread; none (and an obstacle) if it may be negative or is not
  /// bounded. Does not look into code that depends on a template's parameters.
  std::optional<LaunchBound> boundOf(const clang::Expr *expr);
  /// Demands that \p expr, and all integers that it is computed from, fit 31 bits.
  bool require(const clang::Expr *expr);
  /// Demands it of the expression \p text of the host, which is of type \p type.
  void requireValue(llvm::StringRef text, clang::QualType type);

  /// Why the demands cannot be met; empty if they can.
  const std::string &obstacle() const { return why; }
  /// What the host must test so that they are met; empty if they are met anyway.
  std::string condition() const;

private:
  std::optional<LaunchBound> fail(const clang::Expr *expr);
  std::optional<LaunchBound> variableBound(const clang::Expr *expr, const clang::VarDecl *variable);
  std::optional<LaunchBound> extent(bool block, unsigned dimension);
  std::optional<LaunchBound> threads(unsigned dimension);
  /// Of an expression of the host, such as a count.
  std::optional<LaunchBound> hostBound(const clang::Expr *expr);
  void demand(const LaunchBound &bound);
  void note(llvm::StringRef text, clang::QualType type);
  bool isGuarded(const clang::Expr *expr) const;
  /// Whether the bound of \p expr is its value: sums and products of parameters and constants.
  bool isExact(const clang::Expr *expr) const;

  const PassContext *context;
  const KernelView *kernel;
  const LaunchFact *launch;
  std::map<const clang::VarDecl *, ast::CountedLoop> counters;
  std::optional<GuardedElements> guarded;
  unsigned depth = 0;
  std::string why;
  /// Launch values that must be positive, with whether they certainly fit an int.
  std::map<std::string, bool> values;
  std::vector<LaunchBound> demands;
};

} // namespace kbopt

#endif // KBOPT_REWRITE_INDEXBOUNDS_H
