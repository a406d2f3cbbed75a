//===- Intervals.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Intervals.h"
#include <algorithm>

namespace kbrt {

void IntervalSet::append(uint64_t begin, uint64_t end) {
  if (!intervals.empty() && begin <= intervals.back().end)
    intervals.back().end = std::max(intervals.back().end, end);
  else if (begin < end)
    intervals.push_back({begin, end});
}

void IntervalSet::add(uint64_t begin, uint64_t end) {
  if (begin >= end)
    return;
  auto first = std::lower_bound(intervals.begin(), intervals.end(), begin,
                                [](const Interval &i, uint64_t place) { return i.end < place; });
  auto last = first;
  for (; last != intervals.end() && last->begin <= end; ++last) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
  }
  if (first == last) {
    intervals.insert(first, {begin, end});
    return;
  }
  *first = {begin, end};
  intervals.erase(first + 1, last);
}

void LastTouches::touch(const IntervalSet &bytes, uint64_t number, size_t step) {
  if (bytes.isEmpty())
    return;
  newest = number;
  std::vector<Segment> merged;
  merged.reserve(segments.size() + bytes.get().size());
  // Of the old segments stays what lies outside the new bytes.
  auto old = segments.begin();
  for (const Interval &interval : bytes.get()) {
    for (; old != segments.end() && old->begin < interval.begin; ++old) {
      Segment before = *old;
      before.end = std::min(old->end, interval.begin);
      merged.push_back(before);
      if (old->end > interval.begin)
        break; // what is left of it may lie behind the interval
    }
    merged.push_back({interval.begin, interval.end, number, step});
    for (; old != segments.end() && old->end <= interval.end; ++old)
      ;
    if (old != segments.end() && old->begin < interval.end)
      old->begin = interval.end;
  }
  merged.insert(merged.end(), old, segments.end());
  segments = std::move(merged);
}

std::optional<LastTouches::Segment> LastTouches::firstAfter(const IntervalSet &bytes,
                                                            uint64_t known) const {
  if (newest <= known || segments.empty())
    return std::nullopt;
  auto segment = segments.begin();
  for (const Interval &interval : bytes.get()) {
    // Few bytes among many segments: look for them.
    if (segment != segments.end() && segment->end <= interval.begin)
      segment = std::lower_bound(segment, segments.end(), interval.begin,
                                 [](const Segment &s, uint64_t place) { return s.end <= place; });
    for (; segment != segments.end() && segment->begin < interval.end; ++segment) {
      if (segment->number > known) {
        Segment found = *segment;
        found.begin = std::max(found.begin, interval.begin);
        found.end = std::min(found.end, interval.end);
        return found;
      }
      if (segment->end > interval.end)
        break; // the next interval may lie in it, too
    }
  }
  return std::nullopt;
}

void LastTouches::forget(uint64_t begin, uint64_t end) {
  std::vector<Segment> rest;
  rest.reserve(segments.size() + 1);
  for (const Segment &segment : segments) {
    if (segment.begin < std::min(segment.end, begin))
      rest.push_back({segment.begin, std::min(segment.end, begin), segment.number, segment.step});
    if (std::max(segment.begin, end) < segment.end)
      rest.push_back({std::max(segment.begin, end), segment.end, segment.number, segment.step});
  }
  segments = std::move(rest);
}

void LastTouches::clear() {
  segments.clear();
  newest = 0;
}

} // namespace kbrt
