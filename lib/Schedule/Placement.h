//===- Placement.h - Which thread has which points --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a schedule deals the points and inner iterations of a nest to threads, as numbers for
// given sizes. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_PLACEMENT_H
#define KBOPT_LIB_SCHEDULE_PLACEMENT_H

#include "kb-opt/Schedule/Sketch.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <string>
#include <vector>

namespace kbopt {

/// A digit of a thread's number: as it grows by one, each dimension of `dims` grows by `step`.
struct ThreadDigit {
  llvm::SmallVector<std::string, 2> dims;
  int64_t count = 1, step = 1;
};

/// What one thread has of a dimension: `count` values that lie `step` apart.
struct Turns {
  int64_t count = 1, step = 1;
};

/// A launch. Dimensions that neither `digits` nor `turns` name run whole in each thread.
struct Placement {
  std::vector<ThreadDigit> digits; ///< of the thread's number, the fastest one first
  llvm::StringMap<Turns> turns;
  int64_t block = 256;
  llvm::SmallVector<std::string, 2> vectorDims; ///< of whose neighbours an access takes `vector`
  int64_t vector = 1;
  int64_t inflight = 0;   ///< iterations whose loads wait together; 0: as nvcc decides
  int64_t team = 1;       ///< threads that combine each sum
  bool keepsRows = false; ///< an element that several loops of a row load is loaded once
  llvm::SmallVector<std::string, 2> online; ///< loops whose elements are loaded by one of them
  bool loadsOnce = false;  ///< elements that several points of a thread share are loaded once
  bool writesOut = false;  ///< loops have constant lengths, and rows of points no conditions
  int64_t held = 0;        ///< elements of windows that a thread holds
  bool isNumbered = false; ///< a thread finds the dimensions of its point by divisions
  int64_t sharedBytes = 0; ///< of a block
  /// Loops whose elements wait in shared memory, and the dimensions of the points of a block, all
  /// of which use each of them.
  llvm::SmallVector<std::string, 2> shared, sharing;
  int64_t tile = 0; ///< so many iterations of them at a time
  /// Where stores are dealt otherwise than loads, through shared memory.
  std::shared_ptr<const Placement> stores;
  int64_t launches = 1; ///< that do the work together
  int64_t reads = 1;    ///< times that elements are loaded

  /// 0 where they are too many to count.
  int64_t threads() const;
};

/// A dimension or loop of a nest.
struct SizedDim {
  std::string name;
  int64_t extent = 1; ///< of a triangle the mean one
};

/// The dimensions of \p nest, then its loops in the order of the text. Nothing if \p sizes do not
/// tell one; a loop that data ends counts as 32 iterations.
std::optional<std::vector<SizedDim>> sizedDims(kb::NestOp nest, const LaunchSizes &sizes);

/// Nothing if the sketch of \p schedule has no such form, or does not fit.
std::optional<Placement> placementOf(kb::NestOp nest, const Schedule &schedule,
                                     llvm::ArrayRef<SizedDim> dims);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_PLACEMENT_H
