//===- Scheduler.cpp - the threads of one block ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the order in which fibers run: a ring of ready threads, direct switches
// from one to the next. Code that makes a thread wait (Barriers.cpp, Warp.cpp)
// also decides when it wakes.
//
//===----------------------------------------------------------------------===//
#include "Count.h"
#include "Machine.h"
#include "Regions.h"
#include "WgmmaMemory.h"
#include <algorithm>
#include <bit>

kbrt::Thread *kbrt_current = nullptr;

namespace kbrt {

Machine machine;

namespace {
/// Yields in a row, per live thread, after which no thread is believed to make progress any more. A
/// thread that is waited for runs at least once in each round, so this bounds the hand-overs of a
/// lock or flag between threads that do nothing else, not the work between them.
constexpr uint64_t idleRounds = 10000, idleYieldFloor = 1000000;
/// A warp keeps the processor over at most as many of its operations.
constexpr uint32_t mostFavours = 64;
} // namespace

/// The bottom frame of every fiber.
void fiberMain() {
  if (machine.runsFibers)
    machine.body(machine.args, &machine.block, kbrt_current);
  else
    machine.runThreads();
  machine.finishThread();
}

void Machine::runThreads() {
  if (splitBody)
    regions::runBlock(*splitBody, loopOrder);
  else if (!loopOrder)
    loopBody(args, &block, &loopThread, 0, block.threads);
  else
    for (uint32_t i : *loopOrder)
      loopBody(args, &block, &loopThread, i, i + 1);
}

/// No thread is ready: the block is over, or waits for itself.
void Machine::endOrDeadlock() {
  if (liveThreads)
    stopDeadlocked();
  kbrt_switch_context(&currentFiber().context, hostContext); // never comes back
}

/// Switches to the thread \p index of a new block, which has not run.
void Machine::startFiber(uint32_t index, Context &from) {
  Fiber &next = fibers[index];
  next.skipped.clear();
  next.way = next.wayEpoch = 0;
  next.context = makeContext(stacks.top(index), stacks.usableBytes(index), fiberMain);
  progress();
  states[index] = FiberState::Running;
  kbrt_current = &next.thread;
  kbrt_switch_context(&from, next.context);
}

void Machine::sleep(FiberState state) {
  Fiber &self = currentFiber();
  stateOf(self) = state;
  uint32_t w = self.thread.warp;
  Warp &warp = warps[w];
  if (--warp.runnable == 0 && warp.atActiveMask + (state == FiberState::AtActiveMask) > 0) {
    warp.atActiveMask += state == FiberState::AtActiveMask;
    releaseActiveMask(warp, w);
  } else {
    warp.atActiveMask += state == FiberState::AtActiveMask;
  }
  runNext();
}

void Machine::wake(Fiber &fiber) {
  stateOf(fiber) = FiberState::Ready;
  ++warps[fiber.thread.warp].runnable;
  pushReady(fiber.thread.linear);
}

void Machine::wakeAll() {
  for (uint32_t w = 0; w < warpCount; ++w) {
    Warp &warp = warps[w];
    warp.runnable = static_cast<uint32_t>(std::popcount(warp.live));
    for (uint32_t live = warp.live; live && !isShuffled; live &= live - 1) {
      uint32_t index = w * warpLanes + static_cast<uint32_t>(std::countr_zero(live));
      states[index] = FiberState::Ready;
      pushReady(index);
    }
  }
  if (!isShuffled)
    return;
  for (uint32_t index : *fiberOrder)
    if (states[index] != FiberState::Done) {
      states[index] = FiberState::Ready;
      pushReady(index);
    }
}

void Machine::wakeWarp(uint32_t warpIndex, uint32_t mask, uint32_t except) {
  mask &= ~(1u << except);
  FiberState *lanes = &states[warpIndex * warpLanes];
  bool goFirst = ++favours % mostFavours != 0;
  warps[warpIndex].runnable += static_cast<uint32_t>(std::popcount(mask));
  for (uint32_t n = 0; n < warpLanes; ++n) {
    uint32_t i = goFirst ? warpLanes - 1 - n : n;
    if (!(mask >> i & 1))
      continue;
    lanes[i] = FiberState::Ready;
    if (goFirst)
      ready[--readyHead & (maxThreads - 1)] = static_cast<uint16_t>(warpIndex * warpLanes + i);
    else
      pushReady(warpIndex * warpLanes + i);
  }
}

void Machine::yield() {
  if (timeoutPending)
    stop(LaunchStatus::Timeout, "the time limit was reached");
  if (!runsFibers)
    return;
  Fiber &self = currentFiber();
  uint64_t limit = std::max<uint64_t>(idleYieldFloor, idleRounds * liveThreads);
  if (++idleYields > limit)
    stop(LaunchStatus::Timeout, "threads wait in a loop for something that never happens (" +
                                    sitePlace(self.site) +
                                    "); blocks run one after the other on this device, so waiting "
                                    "for a later block never ends");
  uint32_t w = self.thread.warp;
  Warp &warp = warps[w];
  // A lane that only spins must not keep its warp's activemask from completing.
  if (warp.runnable == 1 && warp.atActiveMask)
    releaseActiveMask(warp, w);
  switchAway();
}

void Machine::switchAway() {
  Fiber &self = currentFiber();
  stateOf(self) = FiberState::Ready;
  pushReady(self.thread.linear);
  runNext();
}

void Machine::finishThread() {
  if (!runsFibers) {
    Context ended;
    kbrt_switch_context(&ended, hostContext); // never comes back
    return;
  }
  Fiber &self = currentFiber();
  progress();
  if (info->mode == ImageMode::Check)
    wgmma::onExit(self.thread);
  stateOf(self) = FiberState::Done;
  uint32_t w = self.thread.warp;
  Warp &warp = warps[w];
  warp.live &= ~(1u << self.thread.lane);
  --warp.runnable;
  --liveThreads;
  if (!warp.pending.empty())
    warpOnExit(warp, w);
  barrierOnExit();
  if (warp.runnable == 0 && warp.atActiveMask)
    releaseActiveMask(warp, w);
  runNext();
}

void Machine::runBlockAsFibers(BodyFunction function, const std::vector<uint32_t> &order) {
  runsFibers = true;
  body = function;
  fiberOrder = &order;
  isShuffled = options->seed != 0;
  uint32_t threads = block.threads;
  if (fibers.size() < threads)
    fibers.resize(maxThreads);
  warpCount = (threads + 31) / 32;
  if (warps.size() < warpCount)
    warps.resize(maxWarps);
  for (uint32_t w = 0; w < warpCount; ++w) {
    uint32_t lanes = std::min(32u, threads - w * 32);
    warps[w].live = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warps[w].runnable = lanes;
    warps[w].atActiveMask = 0;
    warps[w].meetings = 0;
    warps[w].pending.clear();
  }
  for (Barrier &barrier : barriers)
    barrier = Barrier{};
  readyHead = readyTail = 0;
  idleYields = 0;
  liveThreads = threads;
  meetings = blockMeetings = 0;
  prepareFibers();
  std::fill_n(states, threads, FiberState::Fresh);
  for (uint32_t index : order)
    pushReady(index);
  startFiber(popReady(), hostContext);
  kbrt_current = nullptr;
}

/// The threads of all blocks of a launch are alike; counting ones change theirs.
void Machine::prepareFibers() {
  if (preparedLaunch == launchNumber && !isPreparedToCount && !isCounting)
    return;
  preparedLaunch = launchNumber;
  isPreparedToCount = isCounting;
  Dim n = block.ntid;
  uint32_t linear = 0;
  for (uint32_t z = 0; z < n.z; ++z)
    for (uint32_t y = 0; y < n.y; ++y)
      for (uint32_t x = 0; x < n.x; ++x, ++linear) {
        Fiber &fiber = fibers[linear];
        fiber.site = 0;
        fiber.thread = {{x, y, z}, linear, linear % 32, linear / 32, &block, nullptr, 0, &fiber};
        if (isCounting)
          fiber.thread.blockCounts = blockCounts.data() + size_t(linear) * info->blockCount;
      }
}

void Machine::runBlockAsLoop(LoopFunction loop, const std::vector<uint32_t> *order) {
  loopBody = loop;
  splitBody = nullptr;
  runOnLoopStack(order);
}

void Machine::runBlockAsRegions(const SplitInfo &split, const std::vector<uint32_t> *order) {
  splitBody = &split;
  runOnLoopStack(order);
}

void Machine::runOnLoopStack(const std::vector<uint32_t> *order) {
  runsFibers = false;
  loopOrder = order;
  loopThread = Thread{};
  loopThread.linear = unknownThread;
  loopThread.block = &block;
  kbrt_current = &loopThread;
  kbrt_switch_context(&hostContext, makeContext(stacks.top(0), stacks.usableBytes(0), fiberMain));
  kbrt_current = nullptr;
}

} // namespace kbrt

extern "C" {

void kbrt_yield(uint32_t site) {
  kbrt::machine.lastSite = site;
  if (kbrt::machine.usesFibers())
    kbrt::machine.currentFiber().site = site;
  kbrt::machine.yield();
}

void kbrt_exit() {
  kbrt::machine.finishThread();
  __builtin_unreachable();
}
}
