//===- RepeatedFills.h - Fills that change nothing ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the memory of fills: benchmarks clear a buffer of the size of the cache
// before each of thousands of launches, and once is enough as long as no device
// memory has changed.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_REPEATEDFILLS_H
#define KBRT_RECORD_REPEATEDFILLS_H

#include "kbrt/Memory.h"
#include <map>
#include <tuple>

namespace kbrt {

/// Relies on DeviceMemory's generation. Used under `DeviceLock`.
class RepeatedFills {
public:
  /// Whether the rows hold \p value since an equal fill.
  bool isThere(const void *p, uint64_t pitch, uint64_t width, uint64_t height, int value) const {
    auto found = generations.find(Key{p, pitch, width, height, value});
    return found != generations.end() && found->second == DeviceMemory::get().getGeneration();
  }
  void done(const void *p, uint64_t pitch, uint64_t width, uint64_t height, int value) {
    // A few buffers are cleared again and again; more are not worth keeping.
    if (generations.size() >= 64)
      generations.clear();
    generations[Key{p, pitch, width, height, value}] = DeviceMemory::get().getGeneration();
  }

private:
  using Key = std::tuple<const void *, uint64_t, uint64_t, uint64_t, int>;
  std::map<Key, uint64_t> generations;
};

} // namespace kbrt

#endif // KBRT_RECORD_REPEATEDFILLS_H
