//===- RowsNest.h - A nest as rows that teams compute -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the `rows` sketch finds in a nest: which inner dimensions a team shares, whether
// that is sound, and which elements of a row are worth keeping. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_ROWSNEST_H
#define KBOPT_LIB_SCHEDULE_ROWSNEST_H

#include "LaneLoop.h"
#include "kb-opt/Target/ChipInfo.h"

namespace kbopt {

/// The inner dimensions of \p nest that a team shares: the outermost ones whose order allows it, or
/// with \p level 2 those inside these where there are any.
llvm::SmallVector<kb::OverOp> laneLoops(kb::NestOp nest, int64_t level);

/// Empty if a team can compute each point of \p nest; otherwise why not.
std::string whyNotRows(kb::NestOp nest, int64_t level);

/// Empty if the iterations of \p over can be given to several threads; otherwise why not.
std::string whyNotShared(kb::NestOp nest, kb::OverOp over);

/// The kb.let that declares scalar \p name; null if there is none.
kb::LetOp declarationOf(kb::NestOp nest, llvm::StringRef name);

/// The variables from outside \p over that kb.reduce operations in it change, one operation each.
llvm::SmallVector<kb::ReduceOp> reductionsOf(kb::OverOp over);

/// Loops of one row that keep its elements from one to the next.
struct RowCache {
  llvm::SmallVector<kb::OverOp> loops; ///< in order, all of `extent`
  kb::ExprAttr extent;
  std::vector<Stream> streams;
  std::map<std::string, unsigned> lastStore; ///< by key: loop of the store that reaches memory
};
/// The elements that several of the \p lanes loops at the top of \p nest use.
RowCache rowCacheOf(CudaText &text, llvm::ArrayRef<kb::OverOp> lanes);

/// 32-bit registers that hold the cached elements of one iteration, at most, from one loop to the
/// next.
int64_t wordsHeld(CudaText &text, const RowCache &cache);

/// Elements to which every row adds atomically: each thread can add up its own ones over the rows
/// that it computes.
struct RowSum {
  Stream stream;
  std::string dim; ///< the shared dimension in `stream.operand`
};
std::vector<RowSum> rowSumsOf(CudaText &text, const RowCache &cache);

/// An extent that \p extent does not exceed at any point, of sizes alone; null if that cannot be
/// told.
kb::ExprAttr largestExtent(kb::NestOp nest, kb::ExprAttr extent);

/// Blocks of \p team threads, each of which keeps \p held elements of a row in registers, that one
/// multiprocessor has room for.
int64_t residentBlocks(const ChipInfo &chip, int64_t team, int64_t held);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_ROWSNEST_H
