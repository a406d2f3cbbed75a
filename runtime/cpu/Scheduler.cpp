//===- Scheduler.cpp - the threads of one block ---------------------------===//
//
// Owns the order in which fibers run: a ring of ready threads, direct switches
// from one to the next. Whoever makes a thread wait (Barriers.cpp, Warp.cpp)
// also decides when it wakes.
//
//===----------------------------------------------------------------------===//
#include "Count.h"
#include "Machine.h"
#include <algorithm>
#include <bit>

kbrt::Thread *kbrt_current = nullptr;

namespace kbrt {

Machine machine;

namespace {
/// Yields in a row, per live thread, after which nobody is believed to make progress any more. A
/// thread that is waited for runs at least once in each round, so this bounds the hand-overs of a
/// lock or flag between threads that do nothing else, not the work between them.
constexpr uint64_t idleRounds = 10000, idleYieldFloor = 1000000;
/// A warp keeps the processor over at most as many of its operations.
constexpr uint32_t mostFavours = 64;
} // namespace

/// The bottom frame of every fiber. \p from carries the fiber that slept, to be given its context.
void fiberMain(fc::transfer_t from) {
  if (auto *previous = static_cast<Fiber *>(from.data))
    previous->context = from.fctx;
  else
    machine.hostContext = from.fctx;
  if (machine.runsFibers)
    machine.body(machine.args, &machine.block, kbrt_current);
  else if (!machine.loopOrder)
    machine.loopBody(machine.args, &machine.block, &machine.loopThread, 0, machine.block.threads);
  else
    for (uint32_t i : *machine.loopOrder)
      machine.loopBody(machine.args, &machine.block, &machine.loopThread, i, i + 1);
  machine.finishThread();
}

uint32_t Machine::popReady() { return ready[readyHead++ & (maxThreads - 1)]; }

/// Leaves the running context, which has been queued or put to sleep, for the next ready fiber.
void Machine::runNext() {
  Fiber *self = static_cast<Fiber *>(kbrt_current->runtime);
  if (readyHead == readyTail) {
    if (liveThreads == 0)
      fc::jump_fcontext(hostContext, nullptr); // never comes back
    stopDeadlocked();
  }
  uint32_t index = popReady();
  Fiber &next = fibers[index];
  if (&next == self && self->state == FiberState::Ready) {
    self->state = FiberState::Running;
    return;
  }
  if (next.state == FiberState::Fresh) {
    next.context = fc::make_fcontext(stacks.top(index), stacks.usableBytes(index), fiberMain);
    progress();
  }
  next.state = FiberState::Running;
  kbrt_current = &next.thread;
  fc::transfer_t back = fc::jump_fcontext(next.context, self);
  // Whoever switched back here hands over its own suspended context.
  static_cast<Fiber *>(back.data)->context = back.fctx;
}

void Machine::sleep(FiberState state) {
  Fiber &self = currentFiber();
  self.state = state;
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
  fiber.state = FiberState::Ready;
  ++warps[fiber.thread.warp].runnable;
  pushReady(fiber.thread.linear);
}

void Machine::wakeWarp(uint32_t warpIndex, uint32_t mask, uint32_t except) {
  mask &= ~(1u << except);
  Fiber *lanes = &fibers[warpIndex * warpLanes];
  bool goFirst = ++favours % mostFavours != 0;
  warps[warpIndex].runnable += static_cast<uint32_t>(std::popcount(mask));
  for (uint32_t n = 0; n < warpLanes; ++n) {
    uint32_t i = goFirst ? warpLanes - 1 - n : n;
    if (!(mask >> i & 1))
      continue;
    lanes[i].state = FiberState::Ready;
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
  self.state = FiberState::Ready;
  pushReady(self.thread.linear);
  runNext();
}

void Machine::finishThread() {
  if (!runsFibers) {
    fc::jump_fcontext(hostContext, nullptr); // never comes back
    return;
  }
  Fiber &self = currentFiber();
  progress();
  self.state = FiberState::Done;
  if (isCounting)
    count::onThreadEnd(self.thread);
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
    warps[w].pending.clear();
  }
  for (Barrier &barrier : barriers)
    barrier = Barrier{};
  readyHead = readyTail = 0;
  idleYields = 0;
  liveThreads = threads;
  Dim n = block.ntid;
  uint32_t linear = 0;
  for (uint32_t z = 0; z < n.z; ++z)
    for (uint32_t y = 0; y < n.y; ++y)
      for (uint32_t x = 0; x < n.x; ++x, ++linear) {
        Fiber &fiber = fibers[linear];
        fiber.state = FiberState::Fresh;
        fiber.site = 0;
        fiber.skipped.clear();
        fiber.thread = {{x, y, z}, linear, linear % 32, linear / 32, &block, nullptr, 0, &fiber};
        if (isCounting)
          fiber.thread.blockCounts = blockCounts.data() + size_t(linear) * info->blockCount;
      }
  for (uint32_t index : order)
    pushReady(index);
  uint32_t first = popReady();
  Fiber &fiber = fibers[first];
  fiber.context = fc::make_fcontext(stacks.top(first), stacks.usableBytes(first), fiberMain);
  fiber.state = FiberState::Running;
  kbrt_current = &fiber.thread;
  fc::jump_fcontext(fiber.context, nullptr);
  kbrt_current = nullptr;
}

void Machine::runBlockAsLoop(LoopFunction loop, const std::vector<uint32_t> *order) {
  runsFibers = false;
  loopBody = loop;
  loopOrder = order;
  loopThread = Thread{};
  loopThread.block = &block;
  kbrt_current = &loopThread;
  fc::fcontext_t context = fc::make_fcontext(stacks.top(0), stacks.usableBytes(0), fiberMain);
  fc::jump_fcontext(context, nullptr);
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
