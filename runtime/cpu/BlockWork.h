//===- BlockWork.h - what all blocks of a launch do -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what count mode knows of every block, sampled or not: how many
// instructions its threads execute, and which lines their atomics update.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_BLOCKWORK_H
#define KBRT_BLOCKWORK_H

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace kbrt::count {

/// The instructions that the blocks of a launch execute, each by all its threads together.
class BlockWork {
public:
  void add(uint64_t instructions);
  /// How many blocks each sampled one stands for, of which the i-th executes \p samples[i]. Every
  /// block goes to the sampled ones that are most like it, and counts in proportion to its work.
  std::vector<double> weights(const std::vector<uint64_t> &samples) const;
  /// The work of the longest block over the mean.
  double imbalance() const;

private:
  struct Class {
    double blocks = 0, work = 0;
  };
  std::map<uint64_t, Class> classes; ///< blocks of about the same work, by that work
  uint64_t most = 0;
};

/// The numbers of at most \p count blocks, in rising order, of which one stands for each of equal
/// parts of the work of all: \p work is that of every block. Blocks of like work are taken in an
/// order that no pattern of their numbers repeats.
std::vector<uint64_t> blocksByWork(std::span<const uint64_t> work, uint64_t count);

/// How many lanes update each line of global memory by atomics.
class AtomicLines {
public:
  void add(uint64_t address);
  /// The share of the lanes at the line that most of them update; 0 if there are none.
  double largestShare() const;

private:
  std::unordered_map<uint64_t, uint64_t> lanes;
  uint64_t lastLine = ~0ull, *lastLanes = nullptr;
};

} // namespace kbrt::count
#endif
