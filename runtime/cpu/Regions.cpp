//===- Regions.cpp - blocks of split kernels ------------------------------===//
//
// Owns the execution of a kernel that is split at its barriers: all threads run
// up to their next stop, in loops; when all that have not ended are there, they
// go on. Threads that have ended count as arrived, and threads may meet at
// different barriers, as the fibers of Barriers.cpp do.
//
//===----------------------------------------------------------------------===//
#include "Regions.h"
#include <algorithm>
#include <sys/mman.h>

namespace kbrt::regions {

namespace {

/// Slots, arrays and two copies of the uniforms, one to read and one to write.
struct Memory {
  char *base = nullptr;
  size_t bytes = 0;
  char *slots, *arrays, *uniforms;
  size_t uniformStride;
} memory;

size_t roundUp(size_t bytes) { return (bytes + 63) / 64 * 64; }

Exchange &exchange() { return *reinterpret_cast<Exchange *>(memory.slots); }

/// One block in execution.
class Runner {
public:
  Runner(const SplitInfo &split, const std::vector<uint32_t> *order)
      : split(split), order(order), x(exchange()), threads(machine.block.threads) {
    for (uint32_t stop = 0; stop < split.stopCount; ++stop)
      hasReductions |= split.stops[stop].kind == StopKind::BarrierReduction;
  }
  void run();

private:
  bool runToStops();
  void call(uint32_t region, uint32_t first, uint32_t last);
  bool agree(uint32_t first, uint32_t last) const;
  void reduce();

  const SplitInfo &split;
  const std::vector<uint32_t> *order;
  Exchange &x;
  uint32_t threads;
  bool hasReductions = false;
  uint32_t phase = 0;
};

void Runner::call(uint32_t region, uint32_t first, uint32_t last) {
  if (region)
    machine.lastSite = split.stops[region - 1].site;
  machine.loopThread.linear = Machine::unknownThread;
  char *read = memory.uniforms + (phase & 1) * memory.uniformStride;
  char *write = memory.uniforms + (~phase & 1) * memory.uniformStride;
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

/// False if all threads have ended.
bool Runner::runToStops() {
  if (!order && agree(0, threads)) {
    if (x.next[0] == Exchange::done)
      return false;
    call(x.next[0], 0, threads);
    return true;
  }
  bool isAlive = false;
  if (order) {
    for (uint32_t i : *order)
      if (x.next[i] != Exchange::done) {
        call(x.next[i], i, i + 1);
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
    call(region, first, last);
    isAlive = true;
  }
  return isAlive;
}

/// Everybody who has not ended waits at a barrier: the results of those with one.
void Runner::reduce() {
  auto reductionOf = [&](uint32_t thread) -> const StopInfo * {
    if (x.next[thread] == Exchange::done)
      return nullptr;
    const StopInfo &stop = split.stops[x.next[thread] - 1];
    return stop.kind == StopKind::BarrierReduction ? &stop : nullptr;
  };
  uint32_t arrived = 0, predicates = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    arrived += x.next[i] != Exchange::done;
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
  if (x.next[0] == Exchange::done)
    x.result[0] = any;
}

void Runner::run() {
  std::fill_n(x.next, threads, 0u);
  while (runToStops()) {
    ++phase;
    if (hasReductions)
      reduce();
  }
}

} // namespace

bool prepare(const SplitInfo &split) {
  size_t slots = roundUp(split.slotBytes), arrays = roundUp(split.arrayBytes);
  memory.uniformStride = roundUp(split.uniformBytes);
  size_t bytes = slots + arrays + 2 * memory.uniformStride;
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
