//===- RowsOnline.h - Maximum and sum in one pass ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding a maximum of a row and sums of exponentials that are relative to it, which one loop
// can form together: a sum is rescaled whenever the maximum grows (Milakov and Gimelshein, Online
// normalizer calculation for softmax, arXiv 1805.02867). Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_ROWSONLINE_H
#define KBOPT_LIB_SCHEDULE_ROWSONLINE_H

#include "kb-opt/IR/Kb.h"

namespace kbopt {

/// Two loops over the same elements of a row: `most` forms the maximum, and every term of `sums` is
/// a product with `function(x - maximum)`. Between them stand scalars that need neither.
struct OnlinePair {
  kb::OverOp most, sums;
  std::string function; ///< "expf"
};

/// Those of the \p lanes of a nest, in their order.
std::vector<OnlinePair> onlinePairsOf(llvm::ArrayRef<kb::OverOp> lanes);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_ROWSONLINE_H
