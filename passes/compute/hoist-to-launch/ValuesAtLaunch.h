//===- ValuesAtLaunch.h - What the host computes for a launch -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text of a kernel's integers as the host computes them at a launch, in the kernel's
// types, and what has to hold so that the host can divide.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_COMPUTE_HOISTTOLAUNCH_VALUESATLAUNCH_H
#define KBOPT_PASSES_COMPUTE_HOISTTOLAUNCH_VALUESATLAUNCH_H

#include "kb-opt/Rewrite/Dispatch.h"

namespace kbopt {

/// Whether every thread of a launch computes the same for \p expr, from what the launch passes.
bool isUniform(const PassContext &context, const KernelView &kernel, const clang::Expr *expr);

/// The same at one launch. Valid as long as the program.
class ValuesAtLaunch {
public:
  ValuesAtLaunch(const PassContext &context, const KernelView &kernel, const LaunchFact &launch)
      : context(context), kernel(kernel), launch(launch) {}

  /// \p expr, which is uniform, as the host writes it; empty where it cannot. What divisors in it
  /// have to be is added to `conditions`.
  std::string text(const clang::Expr *expr);
  /// What has to hold for all texts, joined by &&; empty where nothing has to.
  std::string condition() const;

private:
  std::string leaf(const clang::Expr *expr);
  std::string operation(const clang::BinaryOperator *expr);
  bool isSmallAndPositive(const clang::Expr *expr) const;
  std::string castTo(clang::QualType type, const std::string &text) const;

  const PassContext &context;
  const KernelView &kernel;
  const LaunchFact &launch;
  std::vector<std::string> conditions;
};

} // namespace kbopt

#endif // KBOPT_PASSES_COMPUTE_HOISTTOLAUNCH_VALUESATLAUNCH_H
