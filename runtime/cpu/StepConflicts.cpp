//===- StepConflicts.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "StepConflicts.h"
#include <algorithm>

namespace kbrt {

uint64_t StepConflicts::Uses::latest() const {
  return std::max({of[0].latest(), of[1].latest(), of[2].latest()});
}

static bool areInConflict(Use a, Use b) {
  const bool isWrite = a == Use::Writes || b == Use::Writes;
  return isWrite || a != b; // two reads, and two atomic changes, are in none
}

std::vector<StepConflict> StepConflicts::add(size_t step, const Moment &moment,
                                             const touches::Touched &bytes) {
  const IntervalSet *sets[] = {&bytes.reads, &bytes.writes, &bytes.atomics};
  std::vector<StepConflict> conflicts;
  for (const auto &[stream, uses] : streams) {
    auto found = moment.clock.find(stream);
    const uint64_t known = found == moment.clock.end() ? 0 : found->second;
    if (stream == moment.stream || uses.latest() <= known)
      continue;
    for (Use second : {Use::Writes, Use::ChangesAtomically, Use::Reads})
      for (Use first : {Use::Writes, Use::ChangesAtomically, Use::Reads}) {
        if (!areInConflict(first, second))
          continue;
        if (auto segment = uses.of[size_t(first)].firstAfter(*sets[size_t(second)], known))
          conflicts.push_back({segment->step, step, first, second, segment->begin, segment->end});
      }
  }
  if (moment.stream)
    for (size_t use = 0; use < std::size(sets); ++use)
      streams[*moment.stream].of[use].touch(*sets[use], moment.number, step);
  return conflicts;
}

void StepConflicts::forget(uint64_t begin, uint64_t end) {
  for (auto &[stream, uses] : streams)
    for (LastTouches &touches : uses.of)
      touches.forget(begin, end);
}

void StepConflicts::hostWaited(const Moment &now) {
  for (auto &[stream, uses] : streams)
    if (uses.latest() && now.knows(stream, uses.latest()))
      for (LastTouches &touches : uses.of)
        touches.clear();
}

size_t StepConflicts::size() const {
  size_t sum = 0;
  for (const auto &[stream, uses] : streams)
    for (const LastTouches &touches : uses.of)
      sum += touches.size();
  return sum;
}

} // namespace kbrt
