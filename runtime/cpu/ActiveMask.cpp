//===- ActiveMask.cpp - lanes that happen to be together ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns __activemask(): which of a warp's lanes meet there. In the natural order
// of threads all do that can. In shuffled orders lanes that took different ways since
// they were last synchronised meet at random, because on a chip they need not come
// together again by themselves.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"
#include <algorithm>

namespace kbrt {

namespace {

/// splitmix64's finaliser (Steele, Lea and Flood, OOPSLA 2014).
uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

} // namespace

uint64_t Machine::wayOf(const Fiber &fiber) const {
  return fiber.wayEpoch == epochOf(warps[fiber.thread.warp]) ? fiber.way : 0;
}

void Machine::noteWay(Fiber &fiber, uint64_t way) {
  fiber.way = mix(wayOf(fiber) * 31 + way + 1);
  fiber.wayEpoch = epochOf(warps[fiber.thread.warp]);
}

void Machine::noteMeeting(Warp &warp, uint32_t warpIndex, uint32_t lanes) {
  ++meetings;
  if (lanes == warp.live) {
    ++warp.meetings;
    return;
  }
  for (uint32_t i = 0; i < warpLanes; ++i)
    if (lanes >> i & 1) {
      Fiber &fiber = fibers[warpIndex * warpLanes + i];
      fiber.way = mix(meetings);
      fiber.wayEpoch = epochOf(warp);
    }
}

void Machine::releaseActiveMask(Warp &warp, uint32_t w) {
  Fiber *lanes = &fibers[w * warpLanes];
  uint32_t total = std::min<uint32_t>(warpLanes, block.threads - w * warpLanes), mask = 0;
  uint64_t random = isShuffled ? mix(options->seed + blockLinear * warpLanes + w) + ++meetings : 0;
  uint32_t start = static_cast<uint32_t>(mix(random) % total), first = total;
  for (uint32_t n = 0; n < total && first == total; ++n) {
    uint32_t i = isShuffled ? (start + n) % total : n;
    if (stateOf(lanes[i]) == FiberState::AtActiveMask)
      first = i;
  }
  uint64_t way = wayOf(lanes[first]);
  for (uint32_t i = 0; i < total; ++i) {
    if (stateOf(lanes[i]) != FiberState::AtActiveMask || lanes[i].site != lanes[first].site)
      continue;
    uint64_t other = wayOf(lanes[i]);
    if (!isShuffled || other == way || mix(random ^ mix(other)) & 1)
      mask |= 1u << i;
  }
  for (uint32_t i = 0; i < total; ++i)
    if (mask >> i & 1) {
      lanes[i].result = mask;
      --warp.atActiveMask;
      wake(lanes[i]);
    }
}

} // namespace kbrt

using namespace kbrt;

extern "C" {

uint32_t kbrt_activemask(uint32_t site) {
  machine.lastSite = site;
  Fiber &self = machine.currentFiber();
  self.site = site;
  machine.sleep(FiberState::AtActiveMask);
  return static_cast<uint32_t>(self.result);
}

void kbrt_took_way(uint32_t way) {
  if (machine.usesFibers())
    machine.noteWay(machine.currentFiber(), way);
}
}
