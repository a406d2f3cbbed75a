//===- SumLoops.h - The sums that a point forms -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding the loops of a nest whose sums other kernels can form. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_SUMLOOPS_H
#define KBOPT_LIB_REWRITE_SCHEDULE_SUMLOOPS_H

#include "kb-opt/IR/Kb.h"

namespace kbopt {

/// A sum of each point, and the variable that has it.
struct SumOfPoint {
  kb::ReduceOp reduce;
  kb::LetOp variable;
};

/// The loop of one sum or several.
struct SumLoop {
  kb::OverOp over; ///< its outermost dimension
  std::vector<SumOfPoint> sums;
  size_t first = 0; ///< sums of loops before it
};

/// The loops of \p nest with sums: its only loop, or loops that stand one after the other before
/// all that a point stores. Otherwise why there are none, in the user's words.
std::string findSums(kb::NestOp nest, std::vector<SumLoop> &found);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_SUMLOOPS_H
