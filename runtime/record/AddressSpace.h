//===- AddressSpace.h - Which addresses are taken ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the arithmetic of handing out address ranges. Touches no memory.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_RECORD_ADDRESSSPACE_H
#define KBRT_RECORD_ADDRESSSPACE_H

#include <cstdint>
#include <iterator>
#include <map>

namespace kbrt {

/// Ranges between two addresses. Fresh ones come first, so that a stale pointer seldom meets new
/// memory; what was given back is used once there are none.
class AddressSpace {
public:
  AddressSpace(uint64_t start, uint64_t end) : top(start), end(end) {}

  /// The start of a range of \p bytes; 0 if there is no room.
  uint64_t take(uint64_t bytes) {
    if (bytes <= end - top) {
      top += bytes;
      return top - bytes;
    }
    for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
      auto [start, length] = *hole;
      if (length < bytes)
        continue;
      holes.erase(hole);
      if (length > bytes)
        holes[start + bytes] = length - bytes;
      return start;
    }
    return 0;
  }

  /// Gives back what `take` returned, whole.
  void give(uint64_t start, uint64_t bytes) {
    auto next = holes.lower_bound(start);
    if (next != holes.end() && next->first == start + bytes) {
      bytes += next->second;
      next = holes.erase(next);
    }
    if (next != holes.begin())
      if (auto before = std::prev(next); before->first + before->second == start) {
        before->second += bytes;
        return;
      }
    holes[start] = bytes;
  }

private:
  uint64_t top, end;
  std::map<uint64_t, uint64_t> holes; ///< start to length; no two touch
};

} // namespace kbrt

#endif // KBRT_RECORD_ADDRESSSPACE_H
