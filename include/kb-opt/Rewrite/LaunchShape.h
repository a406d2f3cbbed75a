//===- LaunchShape.h - How large the blocks of a kernel get ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns bounds on the number of threads per block over all launches of a kernel.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_LAUNCHSHAPE_H
#define KBOPT_REWRITE_LAUNCHSHAPE_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// An upper bound of the integer \p expr in \p host: a constant, a remainder by
/// one, the smaller of two values, through variables that never change. None if
/// it is not known.
std::optional<int64_t> upperBoundOf(const clang::Expr *expr, const clang::FunctionDecl *host,
                                    const clang::ASTContext &context);

/// The largest block that any launch of a kernel may have, or why it is unknown.
struct LargestBlock {
  int64_t threads = 0;
  /// The name of a constant of the program with that value that may be written
  /// at the kernel; empty where there is none.
  std::string name;
  std::string obstacle;
};

/// Looks at every launch of \p kernel. A launch that is not in sight, a block that is
/// computed from what only the run knows, and a template whose instances launch
/// blocks of different sizes are obstacles.
LargestBlock largestBlock(const PassContext &context, const KernelView &kernel);

/// Whether the text in front of the name of \p kernel limits its registers:
/// `__maxnreg__`, which clang does not keep.
bool hasRegisterLimit(const PassContext &context, const KernelView &kernel);

} // namespace kbopt

#endif // KBOPT_REWRITE_LAUNCHSHAPE_H
