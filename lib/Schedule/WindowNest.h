//===- WindowNest.h - Points that combine a window of elements --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which nests have points that each combine the few elements of a window (a filter of each
// channel, pooling), the parameters that must be constants for these loops to be written out, and
// where no condition leaves out an element. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_WINDOWNEST_H
#define KBOPT_LIB_SCHEDULE_WINDOWNEST_H

#include "CudaText.h"
#include "kb-opt/Schedule/ScheduleText.h"
#include "llvm/ADT/SmallVector.h"

namespace kbopt {

/// As the key `fixed` has them: "K:3,stride:2".
std::string fixedText(const FixedValues &values);

/// Empty if each point of \p nest combines a window; otherwise why not, in the user's words.
std::string whyNoWindow(kb::NestOp nest);

/// The parameters on which the length of a window and the steps between windows depend, with their
/// values. Nothing if \p sizes do not tell one.
std::optional<FixedValues> fixedValues(kb::NestOp nest, const LaunchSizes &sizes);

/// An element that the points of a row load in their windows.
struct WindowLoad {
  kb::OperandAttr operand;
  llvm::SmallVector<kb::OverOp, 3> loops;      ///< on which it depends, outermost first
  llvm::SmallVector<kb::WhenOp, 2> conditions; ///< around it, in the window
  /// The loop of which `steps` iterations move it as far as one step along the row; null if it is
  /// the same for the whole row.
  kb::OverOp sliding = {};
  int64_t steps = 0;
};

/// A copy of a nest of the class for launches whose parameters have the values in `fixed`; it is in
/// the program as long as this object lives.
class FixedNest {
public:
  FixedNest(kb::NestOp nest, const FixedValues &fixed);
  ~FixedNest();
  FixedNest(const FixedNest &) = delete;

  kb::NestOp nest() const { return copy; }
  /// Elements of one window; nothing if its loops have no constant lengths, or there are too many.
  std::optional<int64_t> windowSize() const;
  /// The dimensions whose neighbours share elements of the window, but for \p lanes.
  llvm::SmallVector<llvm::StringRef> sharing(llvm::StringRef lanes) const;
  /// Of a condition in the window that depends on \p along, an expression that is not negative only
  /// where the condition holds in the whole windows of a row of points.
  struct Inside {
    kb::ExprAttr worst;
    bool atLast = false; ///< of these points, the last one is the worst
  };
  /// All of them; nothing if one is no range.
  std::optional<std::vector<Inside>> inside(llvm::StringRef along) const;
  /// Takes the conditions away that `inside` is about.
  void dropConditions(llvm::StringRef along);
  /// Elements that each point of a row loads, and that its neighbours may load, too.
  std::vector<WindowLoad> loads(llvm::StringRef along) const;

private:
  kb::NestOp copy;
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_WINDOWNEST_H
