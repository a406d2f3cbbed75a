//===- StepConflicts.h - steps in no order on the same bytes ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the search for two steps of a plan that use the same bytes, not both atomically, one of
// them changing them, where nothing makes one wait for the other. On each stream steps are in
// order, so that the last one on a byte stands for all before (FastTrack: Flanagan and Freund, PLDI
// 2009, with bytes in intervals). What a step touches comes from its fields or from Touches.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_STEPCONFLICTS_H
#define KBRT_STEPCONFLICTS_H

#include "Touches.h"
#include "kbrt/StreamOrder.h"

namespace kbrt {

enum class Use : uint8_t { Reads, Writes, ChangesAtomically };

struct StepConflict {
  size_t first = 0, second = 0; ///< steps, as the plan has them
  Use firstUse = Use::Reads, secondUse = Use::Reads;
  uint64_t begin = 0, end = 0; ///< bytes that both use
};

class StepConflicts {
public:
  /// Step \p step, which begins at \p moment, touches \p bytes: conflicts with earlier ones, one
  /// for each stream and pair of uses at most. What the host touches itself is not remembered: what
  /// comes later is enqueued later.
  std::vector<StepConflict> add(size_t step, const Moment &moment, const touches::Touched &bytes);
  /// Bytes that no longer exist.
  void forget(uint64_t begin, uint64_t end);
  /// Drops what all later steps wait for, as the host does at \p now.
  void hostWaited(const Moment &now);
  /// Intervals that are remembered.
  size_t size() const;

private:
  struct Uses {
    LastTouches of[3]; ///< by Use
    uint64_t latest() const;
  };
  std::map<uint32_t, Uses> streams;
};

} // namespace kbrt
#endif
