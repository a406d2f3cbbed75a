//===- SameThreads.h - Other blocks for as many threads ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what to write at a launch so that it runs the threads that it runs now, in blocks of another
// size. Whether the kernel cares is the caller's question.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_TUNEBLOCKSIZE_SAMETHREADS_H
#define KBOPT_PASSES_TUNEBLOCKSIZE_SAMETHREADS_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

/// The configuration of a launch, as text.
struct SameThreads {
  /// Why there is none; empty if there is one.
  std::string obstacle;
  std::string grid, block;
  int64_t size = 0; ///< threads per block now; 0: only the run knows
};

/// \p launch of \p kernel with \p wanted threads per block and no thread more or less: blocks are
/// cut along their last dimension, or several blocks of one dimension become one. Where only the
/// run knows whether that comes out even, the text tests it and keeps the user's configuration
/// elsewhere.
SameThreads sameThreads(const PassContext &context, const KernelView &kernel,
                        const LaunchFact &launch, int64_t wanted);

} // namespace kbopt

#endif // KBOPT_PASSES_TUNEBLOCKSIZE_SAMETHREADS_H
