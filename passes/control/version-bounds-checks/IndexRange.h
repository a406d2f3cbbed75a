//===- IndexRange.h - The indices that a block can form ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the smallest and the largest value of an index in one block, as text that
// can be evaluated at the beginning of the kernel.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_VERSION_BOUNDS_CHECKS_INDEXRANGE_H
#define KBOPT_PASSES_VERSION_BOUNDS_CHECKS_INDEXRANGE_H

#include "kb-opt/Rewrite/AstTools.h"

namespace kbopt::bounds {

/// A sum: terms, of which each stands for one number in 64 bits, and a constant.
struct Sum {
  std::vector<std::string> terms; ///< with their sign: "+ blockDim.x", "- radius"
  int64_t constant = 0;

  /// "static_cast<long long>(blockIdx.x * blockDim.x) + blockDim.x + 1", plus \p more.
  std::string text(int64_t more = 0) const;
};

struct IndexRange {
  Sum least, greatest;
  bool varies = false; ///< differs between threads or iterations
};

/// What \p expr, which stands in \p kernel, can be in one block, if arithmetic does not wrap; none
/// if that is not known.
std::optional<IndexRange> rangeOf(const PassContext &context, const KernelView &kernel,
                                  const clang::Expr *expr);

} // namespace kbopt::bounds

#endif // KBOPT_PASSES_VERSION_BOUNDS_CHECKS_INDEXRANGE_H
