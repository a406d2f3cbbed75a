//===- SlabLayout.cpp - where a plan's buffers lie ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "SlabLayout.h"

#include <algorithm>
#include <map>

using namespace kbrt;
using namespace kbrt::cuda;

SlabLayout SlabLayout::of(const Plan &plan) {
  SlabLayout layout;
  layout.offset.assign(plan.buffers.size(), 0);
  std::map<uint64_t, uint64_t> holes; // start to length
  auto spanOf = [&](uint32_t id) {
    uint64_t bytes = plan.buffers[id].bytes;
    return guardBytes + bytes + guardAfter(bytes);
  };
  uint64_t liveBytes = 0;
  for (const Step &step : plan.steps) {
    if (auto *alloc = std::get_if<AllocStep>(&step)) {
      uint64_t span = spanOf(alloc->buffer), start = layout.bytes;
      auto hole = std::find_if(holes.begin(), holes.end(),
                               [&](const auto &entry) { return entry.second >= span; });
      if (hole != holes.end()) {
        start = hole->first;
        uint64_t rest = hole->second - span;
        holes.erase(hole);
        if (rest)
          holes[start + span] = rest;
      } else {
        layout.bytes += span;
      }
      layout.offset[alloc->buffer] = start + guardBytes;
      liveBytes += plan.buffers[alloc->buffer].bytes;
      layout.peakBytes = std::max(layout.peakBytes, liveBytes);
    } else if (auto *free = std::get_if<FreeStep>(&step)) {
      uint64_t start = layout.offset[free->buffer] - guardBytes;
      auto hole = holes.emplace(start, spanOf(free->buffer)).first;
      auto next = std::next(hole);
      if (next != holes.end() && hole->first + hole->second == next->first) {
        hole->second += next->second;
        holes.erase(next);
      }
      if (hole != holes.begin()) {
        auto before = std::prev(hole);
        if (before->first + before->second == hole->first) {
          before->second += hole->second;
          holes.erase(hole);
        }
      }
      liveBytes -= plan.buffers[free->buffer].bytes;
    }
  }
  return layout;
}
