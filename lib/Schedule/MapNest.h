//===- MapNest.h - A nest as independent points -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what maps find in a nest: its points, inner dimensions that are parallel included, and along
// which dimension neighbouring points have neighbouring elements. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_MAPNEST_H
#define KBOPT_LIB_SCHEDULE_MAPNEST_H

#include "Points.h"
#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

/// A nest as one box of points: its dimensions and the inner ones around the statements.
struct MapNest {
  Box box;
  mlir::Block *body;                      ///< what runs for a point
  llvm::SmallVector<mlir::Block *> outer; ///< blocks of scalars around it, outermost first
  bool absorbs = false;                   ///< an inner dimension is in the box, as its last one

  /// With the inner parallel dimensions in the box if \p absorbs.
  MapNest(kb::NestOp nest, bool absorbs);

  /// Makes \p dim the fastest dimension.
  void makeLast(llvm::StringRef dim);
  kb::ExprAttr extent(llvm::StringRef dim) const;
  bool hasInnerLoops() const;
  /// Bytes of the body's accesses that are neighbours along \p dim, less those that lie apart.
  int64_t neighbourBytes(llvm::StringRef dim) const;
  /// Whether neighbours along \p dim add to neighbouring floats by atomics.
  bool addsNeighbours(llvm::StringRef dim) const;
  /// Whether neighbours along \p dim access elements that lie far apart.
  bool hasFarAccesses(llvm::StringRef dim) const;
  /// Dimensions that may run over lanes, the best one first.
  llvm::SmallVector<llvm::StringRef> laneDims() const;
  /// The number of points for \p sizes, if they tell.
  std::optional<int64_t> points(const LaunchSizes &sizes) const;
};

/// The nest with its inner parallel dimensions in the box where that gives lanes neighbours, or
/// where \p lanes is one of them.
MapNest mapNestOf(kb::NestOp nest, llvm::StringRef lanes);

/// The schedules of the sketch `map` for \p nest.
std::vector<Schedule> mapSchedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_MAPNEST_H
