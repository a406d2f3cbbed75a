//===- ReuseNest.h - Loops in which all points read the same ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the `reuse` sketch finds in a nest: the dimensions whose points all read the same
// elements in a loop, and which elements these are. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_REUSENEST_H
#define KBOPT_LIB_SCHEDULE_REUSENEST_H

#include "Points.h"

namespace kbopt {

/// Elements of one array that an iteration of a loop reads, the same for all points of a block.
struct ReuseTile {
  std::vector<kb::OperandAttr> operands;
  std::vector<kb::ExprAttr> offsets; ///< of these, in the space of `lowest`
  kb::ExprAttr lowest;               ///< offset of the first element
  int64_t width = 1;                 ///< elements from the first one to the last one, at most
  kb::ExprAttr size;                 ///< how many they are where only the launch knows; else null
  int64_t bytes() const { return width * operands.front().getBytes(); }
};

/// A loop at the top of a nest, and what its iterations read.
struct ReuseLoop {
  kb::OverOp over;
  std::vector<ReuseTile> tiles;
};

/// A nest whose points share what their loops read.
struct ReuseNest {
  Box sharing; ///< dimensions whose points read the same, those of neighbouring elements last
  Box outer;   ///< the other ones: all points of a block agree on them
  std::vector<ReuseLoop> loops;
  /// Conditions on sizes under which some point reads each element that a block loads.
  std::vector<std::string> conditions;

  explicit ReuseNest(kb::NestOp nest);
  /// Empty if \p nest is of the class; otherwise why not.
  std::string whyNot() const;
  /// Shared memory for \p terms iterations of the loop that needs most.
  int64_t sharedBytes(int64_t terms) const;
  /// The loop \p op; null if it is none of them.
  const ReuseLoop *find(mlir::Operation *op) const;

private:
  kb::NestOp nest;
  std::string reason;
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_REUSENEST_H
