//===- Points.h - The points of a nest as a box -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how independent points are counted, numbered and found again from their number. Private to
// the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_POINTS_H
#define KBOPT_LIB_SCHEDULE_POINTS_H

#include "LaneLoop.h"

namespace kbopt {

/// Dimensions that are independent of each other, the last one fastest in the numbering of points.
struct Box {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::SmallVector<kb::ExprAttr> extents;

  /// The dimensions of \p nest.
  explicit Box(kb::NestOp nest);
  size_t size() const { return names.size(); }
  /// The product of the extents, in the kernel.
  std::string total(CudaText &text) const;
  /// Requires that there is a point.
  void requirePoints(CudaText &text, Needs &needs) const;
  /// The same for the host; requires that there is a point and that the number of points fits
  /// `int`.
  std::string count(CudaText &text, Needs &needs) const;
  /// Declares those dimensions of the point number \p flat that \p isUsed wants, the last one as \p
  /// last.
  void declare(CudaText &text, CodeLines &code, llvm::StringRef flat, llvm::StringRef last,
               llvm::function_ref<bool(llvm::StringRef)> isUsed) const;
};

/// Empty if the points of \p nest are a box of sizes that the host knows and all of its memory
/// belongs to parameters and variables; otherwise why not.
std::string whyNoBox(kb::NestOp nest);

/// Requires that every loop of \p text's nest and every dimension can be counted in `int`, where
/// sizes are wider or products of the raised launch. Why that cannot be tested; empty if it can.
std::string requireInts(CudaText &text, Needs &needs);

/// Whether, and how often, \p word stands in \p code.
bool mentions(llvm::StringRef code, llvm::StringRef word);
unsigned timesMentioned(llvm::StringRef code, llvm::StringRef word);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_POINTS_H
