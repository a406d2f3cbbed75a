//===- LastBlock.h - Kernels whose last block ends the work -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a kernel is split whose blocks count themselves, so that the last one goes on with what
// all have stored. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_LASTBLOCK_H
#define KBOPT_LIB_RAISE_LASTBLOCK_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"

namespace kbopt::raise {

/// A kernel such as
///
///     partial[blockIdx.x] = …;                                    // first
///     __threadfence();
///     isLast = atomicInc(&count, gridDim.x) == gridDim.x - 1;
///     if (isLast) { …; count = 0; }                               // last
///
/// as two bodies: what all blocks do, and what one block does afterwards, which is called the last
/// one. The nodes of the bodies belong to the AST of the kernel.
struct LastBlock {
  const clang::Stmt *first = nullptr, *last = nullptr;
  /// The value of the count before the last block adds to it, less `offset`.
  const clang::Expr *ticket = nullptr;
  int64_t offset = 0;
  /// The highest value of the count, after which it is 0; null where there is none.
  const clang::Expr *limit = nullptr;
  bool isReset = false; ///< the last block sets the count to 0
  /// The conditions under which a thread counts: one thread of each block must.
  llvm::SmallVector<const clang::Expr *, 2> counts;
  std::string counter; ///< as the user writes it
};

/// Nothing where \p kernel has no such form.
std::optional<LastBlock> findLastBlock(const clang::FunctionDecl *kernel);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_LASTBLOCK_H
