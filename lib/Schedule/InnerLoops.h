//===- InnerLoops.h - Loops that one thread runs ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a loop of one point reads elements that lie side by side along it: several at a time, in
// the order of the loop. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_INNERLOOPS_H
#define KBOPT_LIB_SCHEDULE_INNERLOOPS_H

#include "LaneLoop.h"
#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

/// How an innermost loop is printed.
struct InnerShape {
  int64_t vector = 1;   ///< iterations that one access loads for
  int64_t inflight = 1; ///< times that the loop is unrolled; 1: as the compiler likes
};

/// Prints \p over to \p code, with \p replaced for elements that are held around it. False, and
/// nothing is printed, where it has no vectors. Sizes that do not divide leave iterations to a
/// plain loop. Adds what else the launch must satisfy to \p needs.
bool printInnerLoop(CudaText &text, CodeLines &code, kb::OverOp over, const InnerShape &shape,
                    OperandText replaced, Needs &needs);

/// The elements of the widest access, of 16 bytes, to what the loops of \p body read where
/// neighbours along \p lanes lie apart; 1 if there are none.
int64_t innerVector(kb::NestOp nest, mlir::Block &body, llvm::StringRef lanes,
                    const LaunchSizes &sizes);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_INNERLOOPS_H
