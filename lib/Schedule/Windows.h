//===- Windows.h - Sums over a window of an array ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a sum whose terms slide along with its point (a filter, pooling) is told from one over a
// row or a column of its own. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_WINDOWS_H
#define KBOPT_LIB_SCHEDULE_WINDOWS_H

#include "kb-opt/IR/Kb.h"

namespace kbopt {

/// Whether a sum of \p nest has terms of which neighbouring points share most: `x[i * stride + k]`,
/// where the stride is a small constant, or where a condition bounds that place.
bool sumsWindows(kb::NestOp nest);
/// The same for neighbours along \p dim.
bool sharesWindows(kb::NestOp nest, llvm::StringRef dim);
/// How many steps of \p over one step of \p dim is in \p place; 0 if windows do not overlap.
int64_t slidingSteps(kb::NestOp nest, kb::ExprAttr place, kb::OverOp over, llvm::StringRef dim);
/// Whether a sum of \p nest has terms in a window of two dimensions, `x[(i * s + k) * w + j * s +
/// l]`, also where windows do not overlap.
bool tilesWindows(kb::NestOp nest);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_WINDOWS_H
