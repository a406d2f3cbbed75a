//===- BlockSampler.h - What one block does for memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sectors and lines that the threads of one block ask for, at the addresses that they
// have, and what L1 keeps of them. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_BLOCKSAMPLER_H
#define KBOPT_LIB_SCHEDULE_BLOCKSAMPLER_H

#include "NestWork.h"
#include "kb-opt/Target/ChipInfo.h"
#include "llvm/ADT/DenseSet.h"

namespace kbopt {

inline constexpr int64_t lanesOfWarp = 32, sectorBytes = 32, lineBytes = 128;

/// Accesses of one array in one loop body; all of them load, or all store.
struct AccessGroup {
  std::vector<const WorkAccess *> members;
  std::vector<PointOffset> offsets;
  bool isStore = false;

  const WorkAccess &first() const { return *members.front(); }
  int64_t bytes() const { return first().operand.getBytes(); }
  bool uses(unsigned dim) const {
    return llvm::any_of(offsets, [&](const PointOffset &each) { return each.dependsOn(dim); });
  }
  /// Distinct bytes that the whole launch touches, about.
  double footprint(llvm::ArrayRef<SizedDim> dims) const;
};

/// The accesses of \p work. Elements of a row that a thread keeps are in the group of the loop that
/// loads them first.
std::vector<AccessGroup> groupsOf(kb::NestOp nest, const NestWork &work, const Placement &placement,
                                  llvm::ArrayRef<SizedDim> dims, const LaunchSizes &sizes);

/// Of all warps of a block, in all their iterations.
struct BlockTraffic {
  double requests = 0, lines = 0, sectors = 0;
  double misses = 0;          ///< sectors that go to L2
  double touched = 0;         ///< distinct sectors
  double elements = 0;        ///< of one request of a thread
  double iterations = 1;      ///< of a thread, of the loops that the accesses depend on
  int64_t innermostTurns = 0; ///< of the innermost of these; 0: there are none
  bool isInLoop = false;      ///< that one is a loop, not a dimension of points
  double missShare() const { return sectors > 0 ? misses / sectors : 0; }
};

/// The block in the middle of a launch.
class BlockSampler {
public:
  /// \p points: dimensions of the nest; loops follow.
  BlockSampler(const Placement &placement, llvm::ArrayRef<SizedDim> dims, size_t points);

  int64_t warps() const;
  /// What one thread runs of \p dim.
  Turns turnsOf(unsigned dim) const;
  bool isVector(unsigned dim) const;
  /// \p capacity: bytes of L1 that the block has.
  BlockTraffic sample(const AccessGroup &group, double capacity) const;

private:
  struct Serial {
    unsigned dim;
    Turns turns;
  };
  using Sectors = llvm::SmallVector<int64_t>;

  const Placement &placement;
  llvm::ArrayRef<SizedDim> dims;
  size_t points;
  std::vector<std::vector<int64_t>> ofThread; ///< values of the dimensions, by thread

  llvm::SmallVector<Serial> serialLoops(const AccessGroup &group) const;
  std::vector<int64_t> pointOf(int64_t thread, llvm::ArrayRef<Serial> serial, int64_t turn) const;
  /// The sectors of a request of \p warp for \p width elements, \p element elements further on.
  Sectors sectorsOf(const PointOffset &offset, int64_t bytes, int64_t warp,
                    llvm::ArrayRef<Serial> serial, int64_t turn, unsigned vectorDim,
                    int64_t element, int64_t width) const;
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_BLOCKSAMPLER_H
