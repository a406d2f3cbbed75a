//===- Barriers.cpp - block barriers --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sixteen barriers of a block: sync, arrive and reductions, with or
// without a count. Threads that have ended count as arrived where no count is
// given, as on chips since Volta. A kernel that relies on it for more than an early
// return is undefined, and check mode says so: see refuseSkipped.
//
//===----------------------------------------------------------------------===//
#include "Count.h"
#include "Machine.h"
#include "Races.h"
#include <algorithm>
#include <cstring>

namespace kbrt {

namespace {

bool isComplete(const Barrier &barrier) {
  uint32_t expected = barrier.expected ? barrier.expected : machine.liveThreads;
  return barrier.arrived >= expected;
}

bool isAt(uint32_t site, uint32_t barrierSite) {
  if (site >= machine.info->siteCount || barrierSite >= machine.info->siteCount)
    return false;
  const SiteInfo &x = machine.info->sites[site], &y = machine.info->sites[barrierSite];
  return x.line && x.line == y.line && x.column == y.column && strcmp(x.file, y.file) == 0;
}

uint32_t timesSkipped(const Fiber &fiber, uint32_t barrierSite) {
  uint32_t times = 0;
  for (const SkippedBarrier &each : fiber.skipped)
    if (isAt(each.site, barrierSite))
      times += each.times;
  return times;
}

/// Stops the launch if a thread went around \p barrier, at which others wait, and has
/// ended without coming back to it. The threads that wait may have gone around it too,
/// in an earlier turn of a loop: only going around it more often counts.
void refuseSkipped(const Barrier &barrier) {
  if (barrier.expected || machine.liveThreads == machine.block.threads)
    return;
  uint32_t byWaiting = 0, byEnded = 0, ended = 0;
  const Fiber *first = nullptr;
  for (uint32_t i = 0; i < machine.block.threads; ++i) {
    const Fiber &fiber = machine.fibers[i];
    if (machine.states[i] == FiberState::AtBarrier)
      byWaiting = std::max(byWaiting, timesSkipped(fiber, barrier.site));
  }
  for (uint32_t i = 0; i < machine.block.threads; ++i) {
    const Fiber &fiber = machine.fibers[i];
    if (machine.states[i] != FiberState::Done || fiber.skipped.empty())
      continue;
    byEnded = timesSkipped(fiber, barrier.site);
    if (byEnded > byWaiting && ended++ == 0)
      first = &fiber;
  }
  if (first)
    machine.stop(LaunchStatus::DivergentBarrier,
                 std::to_string(barrier.waiting) + " threads of the block wait at the barrier at " +
                     machine.sitePlace(barrier.site) + ", which " + std::to_string(ended) +
                     " others went around before they ended, the first is thread " +
                     toText(toDim3(first->thread.tid)) + ": kernel " +
                     std::string(machine.kernel->displayName) + ", block " +
                     toText(toDim3(machine.block.ctaid)));
}

/// Wakes all threads that wait at \p id and starts its next phase.
void complete(uint32_t id) {
  Barrier &barrier = machine.barriers[id];
  machine.progress();
  uint32_t popcount = barrier.predicates, arrived = barrier.arrived;
  bool isWhole = barrier.waiting == machine.liveThreads;
  if (isWhole)
    machine.noteBlockMeeting();
  if (machine.info->mode == ImageMode::Check) {
    refuseSkipped(barrier);
    races::onBlockBarrier(id, isWhole);
    for (uint32_t i = 0; i < machine.block.threads; ++i)
      if (machine.states[i] == FiberState::AtBarrier || machine.states[i] == FiberState::Done)
        machine.fibers[i].skipped.clear();
  }
  if (isWhole && !barrier.hasReductions && machine.info->mode != ImageMode::Check) {
    machine.wakeAll();
    barrier = Barrier{};
    return;
  }
  for (uint32_t i = 0; i < machine.block.threads && barrier.waiting; ++i) {
    Fiber &fiber = machine.inOrder(i);
    if (machine.stateOf(fiber) != FiberState::AtBarrier || fiber.barrier != id)
      continue;
    // `result` came in as the operation asked for.
    auto op = static_cast<BarrierReduction>(fiber.result);
    fiber.result = op == BarrierReduction::Popcount ? popcount
                   : op == BarrierReduction::And    ? popcount == arrived
                                                    : popcount != 0;
    --barrier.waiting;
    if (machine.info->mode == ImageMode::Check)
      races::onBarrierRelease(id, fiber.thread);
    machine.wake(fiber);
  }
  barrier = Barrier{};
}

bool samePlace(uint32_t a, uint32_t b) {
  if (a == b || a >= machine.info->siteCount || b >= machine.info->siteCount)
    return true;
  const SiteInfo &x = machine.info->sites[a], &y = machine.info->sites[b];
  return x.line == y.line && x.column == y.column && strcmp(x.file, y.file) == 0;
}

void enter(uint32_t site, uint32_t id, uint32_t count, const char *what) {
  machine.lastSite = site;
  Fiber &self = machine.currentFiber();
  self.site = site;
  if (id >= barrierCount)
    machine.stop(LaunchStatus::Fault, "barrier " + std::to_string(id) +
                                          " does not exist (there are 16) in " +
                                          machine.whereAmI(site));
  if (count > machine.block.threads || count % warpLanes)
    if (count != machine.block.threads)
      machine.stop(LaunchStatus::Fault, std::string(what) + " with a count of " +
                                            std::to_string(count) + " threads in a block of " +
                                            std::to_string(machine.block.threads) + " in " +
                                            machine.whereAmI(site));
  Barrier &barrier = machine.barriers[id];
  if (!barrier.isActive) {
    barrier.isActive = true;
    barrier.expected = count;
    barrier.site = site;
  } else if ((barrier.expected ? barrier.expected : machine.block.threads) !=
             (count ? count : machine.block.threads)) {
    machine.stop(LaunchStatus::DivergentBarrier,
                 "threads meet at barrier " + std::to_string(id) + " with different counts (" +
                     machine.sitePlace(barrier.site) + ") in " + machine.whereAmI(site));
  } else if (!count && machine.info->mode == ImageMode::Check && !samePlace(barrier.site, site)) {
    machine.stop(LaunchStatus::DivergentBarrier,
                 "some threads of the block wait at the barrier at " +
                     machine.sitePlace(barrier.site) + ", others at the one at " +
                     machine.sitePlace(site) + ": " + machine.whereAmI(site));
  }
  ++barrier.arrived;
  if (machine.info->mode == ImageMode::Check)
    races::onBarrierArrival(id, self.thread);
  if (machine.isCounting)
    count::onBarrier(self.thread);
}

uint32_t wait(uint32_t site, uint32_t id, uint32_t count, BarrierReduction op, bool predicate,
              bool isReduction) {
  enter(site, id, count, "barrier");
  Barrier &barrier = machine.barriers[id];
  barrier.hasReductions |= isReduction;
  Fiber &self = machine.currentFiber();
  self.barrier = static_cast<uint8_t>(id);
  self.result = static_cast<uint64_t>(op);
  ++barrier.waiting;
  barrier.predicates += predicate;
  if (isComplete(barrier)) {
    // The last one wakes itself like the others: the order of the next phase is that of the ring.
    machine.stateOf(self) = FiberState::AtBarrier;
    --machine.warps[self.thread.warp].runnable;
    complete(id);
    machine.resume();
  } else {
    machine.sleep(FiberState::AtBarrier);
  }
  return static_cast<uint32_t>(self.result);
}

} // namespace

void Machine::barrierOnExit() {
  if (!liveThreads)
    return;
  for (uint32_t id = 0; id < barrierCount; ++id) {
    const Barrier &barrier = barriers[id];
    if (barrier.isActive && !barrier.expected && isComplete(barrier))
      complete(id);
  }
}

} // namespace kbrt

using namespace kbrt;

extern "C" {

void kbrt_barrier(uint32_t site, uint32_t id, uint32_t count) {
  // __syncthreads() that all threads reach at one place, in a block that is not counted: what is
  // left of `wait` then, but for the thread that arrives last.
  Barrier &barrier = machine.barriers[0];
  if (id == 0 && count == 0 && barrier.expected == 0 && !machine.isCounting &&
      (!barrier.isActive || barrier.site == site) && barrier.arrived + 1 < machine.liveThreads) {
    Fiber &self = machine.currentFiber();
    machine.lastSite = self.site = site;
    if (!barrier.isActive) {
      barrier.isActive = true;
      barrier.site = site;
    }
    ++barrier.arrived;
    ++barrier.waiting;
    self.barrier = 0;
    self.result = static_cast<uint64_t>(BarrierReduction::Popcount);
    return machine.sleepAtBarrier();
  }
  wait(site, id, count, BarrierReduction::Popcount, false, /*isReduction=*/false);
}

void kbrt_barrier_skipped(uint32_t site) {
  if (!machine.usesFibers())
    return;
  for (SkippedBarrier &each : machine.currentFiber().skipped)
    if (each.site == site) {
      ++each.times;
      return;
    }
  machine.currentFiber().skipped.push_back({site, 1});
}

void kbrt_barrier_arrive(uint32_t site, uint32_t id, uint32_t count) {
  enter(site, id, count, "barrier arrival");
  if (isComplete(machine.barriers[id]))
    complete(id);
}

uint32_t kbrt_barrier_red(uint32_t site, uint32_t id, uint32_t count, BarrierReduction op,
                          uint32_t predicate) {
  return wait(site, id, count, op, predicate != 0, /*isReduction=*/true);
}
}
