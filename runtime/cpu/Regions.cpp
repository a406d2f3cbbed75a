//===- Regions.cpp - blocks of split kernels ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the execution of a kernel that is split where its threads wait: all run
// up to their next stop, in loops; when all that have not ended are there, they
// go on. Threads that have ended count as arrived, and threads may meet at
// different places, as the fibers of Barriers.cpp and Warp.cpp do. With warp
// operations, one warp after the other goes on to its next block barrier.
//
//===----------------------------------------------------------------------===//
#include "Regions.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>

namespace kbrt::regions {

namespace {

/// Slots, arrays and for each warp two copies of the uniforms, one to read and one to write.
struct Memory {
  char *base = nullptr;
  size_t bytes = 0;
  char *slots, *arrays, *uniforms;
  size_t uniformStride;
} memory;

size_t roundUp(size_t bytes) { return (bytes + 63) / 64 * 64; }

Exchange &exchange() { return *reinterpret_cast<Exchange *>(memory.slots); }

uint32_t firstLanes(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

WarpOpKind operationOf(StopKind kind) {
  switch (kind) {
  case StopKind::Shuffle:
    return WarpOpKind::Shuffle;
  case StopKind::Vote:
    return WarpOpKind::Vote;
  case StopKind::MatchAny:
    return WarpOpKind::MatchAny;
  case StopKind::MatchAll:
    return WarpOpKind::MatchAll;
  case StopKind::Redux:
    return WarpOpKind::Redux;
  default:
    return WarpOpKind::Sync;
  }
}

/// One block in execution.
class Runner {
public:
  Runner(const SplitInfo &split, const std::vector<uint32_t> *order);
  void run();

private:
  const StopInfo &stopOf(uint32_t thread) const { return split.stops[x.next[thread] - 1]; }
  bool isDone(uint32_t thread) const { return x.next[thread] == Exchange::done; }
  bool waitsInWarp(uint32_t thread) const {
    return !isDone(thread) && stopOf(thread).kind > StopKind::BarrierReduction;
  }
  void call(uint32_t warp, uint32_t region, uint32_t first, uint32_t last);
  bool agree(uint32_t first, uint32_t last) const;
  bool runToStops();
  bool runToBarriers();
  void runWarp(uint32_t warp, uint32_t ready);
  uint32_t operate(uint32_t warp);
  uint32_t operateInGroups(uint32_t warp, uint32_t begin, uint32_t count);
  void compute(const StopInfo &stop, uint32_t mask, uint32_t arrived, uint32_t warp);
  void reduce();
  [[noreturn]] void stopDeadlocked();

  const SplitInfo &split;
  const std::vector<uint32_t> *order;
  Exchange &x;
  uint32_t threads;
  bool hasReductions = false;
  std::vector<uint32_t> byWarp; ///< `order`, the threads of a warp beside each other
  uint32_t phase[maxWarps] = {};
};

Runner::Runner(const SplitInfo &split, const std::vector<uint32_t> *order)
    : split(split), order(order), x(exchange()), threads(machine.block.threads) {
  for (uint32_t stop = 0; stop < split.stopCount; ++stop)
    hasReductions |= split.stops[stop].kind == StopKind::BarrierReduction;
  if (!order || !split.hasWarpStops)
    return;
  byWarp.resize(threads);
  uint32_t taken[maxWarps] = {};
  for (uint32_t i : *order)
    byWarp[i / warpLanes * warpLanes + taken[i / warpLanes]++] = i;
}

void Runner::call(uint32_t warp, uint32_t region, uint32_t first, uint32_t last) {
  if (region)
    machine.lastSite = split.stops[region - 1].site;
  machine.loopThread.linear = Machine::unknownThread;
  char *uniforms = memory.uniforms + 2 * warp * memory.uniformStride;
  char *read = uniforms + (phase[warp] & 1) * memory.uniformStride;
  char *write = uniforms + (~phase[warp] & 1) * memory.uniformStride;
  split.regions[region](machine.args, &machine.block, &machine.loopThread, memory.slots,
                        memory.arrays, read, write, first, last);
}

/// True if the threads go on at one place.
bool Runner::agree(uint32_t first, uint32_t last) const {
  uint32_t difference = 0;
  for (uint32_t i = first; i < last; ++i)
    difference |= x.next[i] ^ x.next[first];
  return !difference;
}

/// Of a kernel that has only block barriers. False if all threads have ended.
bool Runner::runToStops() {
  if (!order && agree(0, threads)) {
    if (isDone(0))
      return false;
    call(0, x.next[0], 0, threads);
    return true;
  }
  bool isAlive = false;
  if (order) {
    for (uint32_t i : *order)
      if (!isDone(i)) {
        call(0, x.next[i], i, i + 1);
        isAlive = true;
      }
    return isAlive;
  }
  for (uint32_t first = 0, last; first < threads; first = last) {
    uint32_t region = x.next[first];
    for (last = first + 1; last < threads && x.next[last] == region;)
      ++last;
    if (region == Exchange::done)
      continue;
    call(0, region, first, last);
    isAlive = true;
  }
  return isAlive;
}

/// Runs the lanes \p ready of a warp, and again those that need not wait for other warps.
void Runner::runWarp(uint32_t warp, uint32_t ready) {
  const uint32_t begin = warp * warpLanes, count = std::min(warpLanes, threads - begin);
  while (ready) {
    if (order) {
      for (uint32_t n = begin; n < begin + count; ++n)
        if (uint32_t i = byWarp[n]; ready >> (i - begin) & 1)
          call(warp, x.next[i], i, i + 1);
    } else if (ready == firstLanes(count) && agree(begin, begin + count)) {
      call(warp, x.next[begin], begin, begin + count);
    } else {
      for (uint32_t first = 0, last; first < count; first = last) {
        uint32_t region = x.next[begin + first];
        for (last = first + 1; last < count && (ready >> last & 1) == (ready >> first & 1) &&
                               x.next[begin + last] == region;)
          ++last;
        if (ready >> first & 1)
          call(warp, region, begin + first, begin + last);
      }
    }
    ++phase[warp];
    ready = operate(warp);
  }
}

/// Performs the warp operations all of whose lanes are there; returns these lanes.
uint32_t Runner::operate(uint32_t warp) {
  const uint32_t begin = warp * warpLanes, count = std::min(warpLanes, threads - begin);
  if (agree(begin, begin + count)) {
    // All at one place, as nearly always.
    if (!waitsInWarp(begin))
      return 0;
    uint32_t common = ~0u;
    for (uint32_t i = begin; i < begin + count; ++i)
      common &= x.mask[i];
    if (common == ~0u) {
      compute(stopOf(begin), common, firstLanes(count), warp);
      return firstLanes(count);
    }
  }
  return operateInGroups(warp, begin, count);
}

uint32_t Runner::operateInGroups(uint32_t warp, uint32_t begin, uint32_t count) {
  uint32_t live = 0, waiting = 0, finished = 0;
  for (uint32_t i = 0; i < count; ++i) {
    live |= uint32_t(!isDone(begin + i)) << i;
    waiting |= uint32_t(waitsInWarp(begin + i)) << i;
  }
  while (waiting) {
    uint32_t leader = begin + uint32_t(std::countr_zero(waiting));
    const StopInfo &stop = stopOf(leader);
    uint32_t mask = x.mask[leader], arrived = 0;
    for (uint32_t i = 0; i < count; ++i)
      if ((waiting >> i & 1) && x.mask[begin + i] == mask && stopOf(begin + i).kind == stop.kind &&
          stopOf(begin + i).detail == stop.detail)
        arrived |= 1u << i;
    waiting &= ~arrived;
    if (uint32_t outside = arrived & ~mask) {
      uint32_t lane = uint32_t(std::countr_zero(outside));
      Dim3 at = unflatten(begin + lane, machine.blockDim);
      machine.loopThread.tid = {at.x, at.y, at.z};
      machine.loopThread.linear = begin + lane;
      machine.stopOutsideMask(stopOf(begin + lane).site, lane, mask);
    }
    if (arrived == (mask & live)) {
      compute(stop, mask, arrived, warp);
      finished |= arrived;
    }
  }
  return finished;
}

void Runner::compute(const StopInfo &stop, uint32_t mask, uint32_t arrived, uint32_t warp) {
  const uint32_t begin = warp * warpLanes;
  if (stop.kind == StopKind::WarpSync)
    return;
  WarpOp op; // as a fiber's, but for the operands that this kind has none of
  op.mask = mask;
  op.arrived = arrived;
  op.kind = operationOf(stop.kind);
  op.detail = stop.detail;
  op.site = stop.site;
  memcpy(op.value, x.value + begin, sizeof op.value);
  if (stop.kind == StopKind::Shuffle) {
    memcpy(op.lane, x.lane + begin, sizeof op.lane);
    memcpy(op.clamp, x.clamp + begin, sizeof op.clamp);
  }
  if (arrived == ~0u) {
    computeWarpOp(op, x.result + begin, x.flag + begin);
    return;
  }
  uint32_t result[warpLanes], flag[warpLanes];
  computeWarpOp(op, result, flag);
  for (uint32_t i = 0; i < warpLanes; ++i)
    if (arrived >> i & 1) {
      x.result[begin + i] = result[i];
      x.flag[begin + i] = flag[i];
    }
}

/// Of a kernel with warp operations. False if all threads have ended.
bool Runner::runToBarriers() {
  bool isAlive = false, isStuck = false;
  for (uint32_t begin = 0; begin < threads; begin += warpLanes) {
    uint32_t end = std::min(begin + warpLanes, threads), ready = 0;
    for (uint32_t i = begin; i < end; ++i)
      ready |= uint32_t(!isDone(i)) << (i - begin);
    runWarp(begin / warpLanes, ready);
    for (uint32_t i = begin; i < end; ++i) {
      isAlive |= !isDone(i);
      isStuck |= waitsInWarp(i);
    }
  }
  if (isStuck)
    stopDeadlocked();
  return isAlive;
}

/// All threads that have not ended wait at a barrier: the results of those with one.
void Runner::reduce() {
  auto reductionOf = [&](uint32_t thread) -> const StopInfo * {
    bool waits = !isDone(thread) && stopOf(thread).kind == StopKind::BarrierReduction;
    return waits ? &stopOf(thread) : nullptr;
  };
  uint32_t arrived = 0, predicates = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    arrived += !isDone(i);
    predicates += reductionOf(i) && x.value[i];
  }
  uint32_t any = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    const StopInfo *stop = reductionOf(i);
    if (!stop)
      continue;
    auto op = static_cast<BarrierReduction>(stop->detail);
    any = x.result[i] = op == BarrierReduction::Popcount ? predicates
                        : op == BarrierReduction::And    ? predicates == arrived
                                                         : predicates != 0;
  }
  // Where threads move in lockstep they all read the first one's, which may have ended.
  if (isDone(0))
    x.result[0] = any;
}

/// Some lanes wait for others of their warp that wait at a barrier or for yet others.
void Runner::stopDeadlocked() {
  if (machine.fibers.size() < threads)
    machine.fibers.resize(maxThreads);
  machine.barriers[0] = Barrier{};
  machine.liveThreads = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    Fiber &fiber = machine.fibers[i];
    Dim3 at = unflatten(i, machine.blockDim);
    fiber.thread.tid = {at.x, at.y, at.z};
    fiber.thread.linear = i;
    fiber.barrier = 0;
    fiber.mask = x.mask[i];
    fiber.site = isDone(i) ? 0 : stopOf(i).site;
    machine.states[i] = isDone(i)        ? FiberState::Done
                        : waitsInWarp(i) ? FiberState::AtWarpOp
                                         : FiberState::AtBarrier;
    machine.liveThreads += !isDone(i);
  }
  machine.stopDeadlocked();
}

void Runner::run() {
  std::fill_n(x.next, threads, 0u);
  while (split.hasWarpStops ? runToBarriers() : runToStops()) {
    if (!split.hasWarpStops)
      ++phase[0];
    if (hasReductions)
      reduce();
  }
}

} // namespace

bool prepare(const SplitInfo &split) {
  size_t slots = roundUp(split.slotBytes), arrays = roundUp(split.arrayBytes);
  memory.uniformStride = roundUp(split.uniformBytes);
  size_t bytes = slots + arrays + 2 * maxWarps * memory.uniformStride;
  if (bytes > memory.bytes) {
    if (memory.base)
      munmap(memory.base, memory.bytes);
    memory.bytes = 0;
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory.base = p == MAP_FAILED ? nullptr : static_cast<char *>(p);
    if (!memory.base)
      return false;
    memory.bytes = bytes;
  }
  memory.slots = memory.base;
  memory.arrays = memory.slots + slots;
  memory.uniforms = memory.arrays + arrays;
  return true;
}

void runBlock(const SplitInfo &split, const std::vector<uint32_t> *order) {
  Runner(split, order).run();
}

} // namespace kbrt::regions
