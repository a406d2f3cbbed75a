//===- Intervals.h - sets of bytes ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns sets of addresses as sorted intervals, and which thread touched each of them last.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_INTERVALS_H
#define KBRT_INTERVALS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kbrt {

/// Bytes [begin, end).
struct Interval {
  uint64_t begin = 0, end = 0;
  bool operator==(const Interval &) const = default;
};

/// Sorted intervals that neither overlap nor meet.
class IntervalSet {
public:
  /// \p begin is not before any byte of the set.
  void append(uint64_t begin, uint64_t end);
  /// Bytes anywhere.
  void add(uint64_t begin, uint64_t end);
  bool isEmpty() const { return intervals.empty(); }
  const std::vector<Interval> &get() const { return intervals; }

private:
  std::vector<Interval> intervals;
};

/// Bytes with the number and the step of the operation of one stream that touched them last.
class LastTouches {
public:
  struct Segment {
    uint64_t begin = 0, end = 0;
    uint64_t number = 0; ///< of the operation on its stream
    size_t step = 0;     ///< of the plan
  };

  /// Operation \p number, which is later than all before, touches \p bytes.
  void touch(const IntervalSet &bytes, uint64_t number, size_t step);
  /// The first byte of \p bytes that an operation later than \p known has touched, with that
  /// operation.
  std::optional<Segment> firstAfter(const IntervalSet &bytes, uint64_t known) const;
  /// Bytes that no longer exist.
  void forget(uint64_t begin, uint64_t end);
  void clear();
  /// The latest operation that touched anything.
  uint64_t latest() const { return newest; }
  size_t size() const { return segments.size(); }

private:
  std::vector<Segment> segments; ///< sorted
  uint64_t newest = 0;
};

} // namespace kbrt
#endif
