//===- Cache.h - the first-level cache and the footprint --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a small simulation of one SM's L1 and the set of sectors that a launch
// touches. Both work on sector numbers (address / 32).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CACHE_H
#define KBRT_CACHE_H

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kbrt::count {

/// Set-associative, least recently used, lines of four sectors that are filled one by one.
class SectorCache {
public:
  /// Empties the cache and gives it a capacity.
  void reset(uint64_t bytes);
  /// Looks \p sector up and fills it; true if it was there.
  bool load(uint64_t sector);

private:
  static constexpr unsigned ways = 8;
  struct Line {
    uint64_t tag = ~0ull;
    uint32_t lastUse = 0;
    uint8_t valid = 0;
  };
  std::vector<Line> lines;
  uint64_t sets = 0;
  uint32_t clock = 0;
};

/// Which sectors were touched, and whether by one sampled block or by several.
class Footprint {
public:
  void clear();
  /// \p block numbers the sampled blocks from 1.
  void touch(uint64_t sector, uint32_t block);
  /// Distinct sectors × 32, and an extrapolation from the sampled blocks to all, of which the i-th
  /// stands for \p weights[i]: what one block alone touched grows with the blocks, what several
  /// touched does not, and no buffer counts for more than its size.
  uint64_t sampledBytes() const;
  double extrapolatedBytes(const std::vector<double> &weights) const;

private:
  static constexpr uint64_t regionSectors = 4096;
  static constexpr uint32_t shared = ~0u;
  std::unordered_map<uint64_t, std::vector<uint32_t>> regions;
  std::vector<uint32_t> *lastRegion = nullptr;
  uint64_t lastNumber = ~0ull;
};

} // namespace kbrt::count
#endif
