//===- Count.cpp - counting on sampled blocks -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Count.h"
#include "Cache.h"
#include "Findings.h"
#include "Requests.h"
#include <algorithm>
#include <bit>
#include <map>
#include <string_view>

namespace kbrt::count {

namespace {

/// A lane hands over after as many accesses, so that warps and lanes advance together as they do on
/// a chip: the caches see their accesses interleaved.
constexpr uint32_t accessesPerTurn = 16;

using LineKey = std::pair<std::string_view, unsigned>;

struct State {
  bool isActive = false;
  uint64_t blocks = 0, samples = 0, sampled = 0, nextSample = 0;
  KernelCounters sum; ///< not scaled
  std::vector<AccessCounters> bySite;
  std::vector<MemorySpace> spaceOfSite; ///< where its first request went
  std::map<LineKey, LineCounters> byLine;
  std::vector<double> threadExecutions, warpExecutions; ///< of basic blocks
  Footprint read, written, atomic;
  SectorCache l1;
  uint32_t turn = 0;
  double barrierLanes = 0, warpBarrierLanes = 0, shuffleLanes = 0, voteLanes = 0;
  double imbalance = 0, longestBlock = 0, blockWork = 0;
  uint32_t threadCount = 0;
} state;

void finishRequest(const Request &request);
RequestTable table(finishRequest);

LineCounters &lineOf(const char *file, unsigned line) {
  LineCounters &counters = state.byLine[{file, line}];
  if (counters.file.empty()) {
    counters.file = file;
    counters.line = line;
  }
  return counters;
}

/// Number of the i-th sampled block: the middles of equal parts of the grid.
uint64_t samplePosition(uint64_t i) {
  return static_cast<uint64_t>((double(i) + 0.5) * double(state.blocks) / double(state.samples));
}

MemorySpace resolve(MemorySpace space, uint64_t address) {
  if (space != MemorySpace::Generic)
    return space;
  if (isDeviceAddress(address))
    return MemorySpace::Global;
  if (reinterpret_cast<char *>(address) >= machine.sharedArena &&
      reinterpret_cast<char *>(address) < machine.sharedArena + machine.sharedArenaBytes)
    return MemorySpace::Shared;
  return machine.stacks.containsStack(reinterpret_cast<void *>(address)) ? MemorySpace::Local
                                                                         : MemorySpace::Param;
}

AccessCounters *totalOf(MemorySpace space, AccessKind kind) {
  KernelCounters &sum = state.sum;
  switch (space) {
  case MemorySpace::Global:
    return kind == AccessKind::Load    ? &sum.globalLoad
           : kind == AccessKind::Store ? &sum.globalStore
                                       : &sum.globalAtomic;
  case MemorySpace::Shared:
    return kind == AccessKind::Load    ? &sum.sharedLoad
           : kind == AccessKind::Store ? &sum.sharedStore
                                       : &sum.sharedAtomic;
  case MemorySpace::Local:
    return kind == AccessKind::Load ? &sum.localLoad : &sum.localStore;
  default:
    return &sum.constantLoad;
  }
}

void finishBranch(const Request &request) {
  const BranchInfo &info = machine.info->branches[request.site & ~branchBit];
  uint64_t first = request.address[std::countr_zero(request.mask)];
  bool isDivergent = false;
  for (unsigned i = 0; i < warpLanes; ++i)
    isDivergent |= (request.mask >> i & 1) && request.address[i] != first;
  state.sum.branches += 1;
  state.sum.divergentBranches += isDivergent;
  LineCounters &line = lineOf(info.file, info.line);
  line.branches += 1;
  line.divergentBranches += isDivergent;
}

/// Sends the sectors through L1; returns how many of them were there.
unsigned countTraffic(const Measures &m, const SiteInfo &site) {
  TrafficCounters &traffic = state.sum.traffic;
  auto block = static_cast<uint32_t>(state.sampled);
  double bytes = double(m.sectors) * sectorBytes;
  bool isCached = !site.isVolatile;
  if (site.kind == AccessKind::Load) {
    unsigned hits = 0;
    for (unsigned i = 0; i < m.sectors; ++i) {
      state.read.touch(m.sector[i], block);
      traffic.l1LoadSectors += 1;
      if (isCached && state.l1.load(m.sector[i]))
        ++hits;
      else
        traffic.l2ReadBytes += sectorBytes;
    }
    traffic.l1LoadHitSectors += hits;
    return hits;
  }
  if (site.kind == AccessKind::Atomic)
    traffic.l2AtomicBytes += bytes;
  else
    traffic.l2WriteBytes += bytes;
  for (unsigned i = 0; i < m.sectors; ++i) {
    state.written.touch(m.sector[i], block);
    if (site.kind == AccessKind::Atomic) {
      state.read.touch(m.sector[i], block);
      state.atomic.touch(m.sector[i], block);
    }
  }
  return 0;
}

void finishRequest(const Request &request) {
  if (request.site & branchBit) {
    finishBranch(request);
    return;
  }
  const SiteInfo &site = machine.info->sites[request.site];
  MemorySpace space = resolve(site.space, request.address[std::countr_zero(request.mask)]);
  unsigned bytes = site.bytes ? site.bytes : 4;
  Measures m = measure(request, bytes);
  AccessCounters one;
  one.requests = 1;
  one.lanes = m.lanes;
  one.bytesRequested = double(m.lanes) * bytes;
  one.bytesUsed = m.bytesUsed;
  LineCounters &line = lineOf(site.file, site.line);
  if (space == MemorySpace::Shared) {
    unsigned ideal;
    unsigned wavefronts = sharedWavefronts(request, bytes, ideal);
    if (site.kind == AccessKind::Atomic)
      wavefronts = std::max(wavefronts, m.serialisation);
    one.sharedWavefronts = wavefronts;
    one.idealSharedWavefronts = ideal;
    line.sharedWavefronts += wavefronts;
    line.idealSharedWavefronts += ideal;
  } else {
    one.sectors = m.sectors;
    one.idealSectors = m.idealSectors;
    one.lineWavefronts = lineWavefronts(request, bytes);
    if (space == MemorySpace::Global) {
      one.l1HitSectors = countTraffic(m, site);
      line.globalRequests += 1;
      line.globalSectors += m.sectors;
      line.idealGlobalSectors += m.idealSectors;
    }
  }
  if (site.kind == AccessKind::Atomic)
    one.atomicSerialisation = m.serialisation;
  totalOf(space, site.kind)->add(one);
  state.bySite[request.site].add(one);
  state.spaceOfSite[request.site] = space;
}

void addOps(const uint16_t *ops, double threads, double warps, LineCounters &line) {
  KernelCounters &sum = state.sum;
  for (unsigned op = 0; op < opCount; ++op) {
    if (!ops[op])
      continue;
    double perThread = threads * ops[op], perWarp = warps * ops[op];
    sum.threadInstructionsByOp[op] += perThread;
    sum.warpInstructionsByOp[op] += perWarp;
    if (static_cast<Op>(op) == Op::TensorFlops) {
      sum.tensorOperations += perThread;
      continue;
    }
    sum.threadInstructions += perThread;
    sum.warpInstructions += perWarp;
    line.threadInstructions += perThread;
    line.warpInstructions += perWarp;
    switch (static_cast<Op>(op)) {
    case Op::FFma:
      sum.fp32Operations += 2 * perThread;
      break;
    case Op::FAdd:
    case Op::FMul:
    case Op::FDiv:
      sum.fp32Operations += perThread;
      break;
    case Op::DFma:
      sum.fp64Operations += 2 * perThread;
      break;
    case Op::DAdd:
    case Op::DMul:
    case Op::DDiv:
      sum.fp64Operations += perThread;
      break;
    case Op::HFma:
      sum.fp16Operations += 2 * perThread;
      break;
    case Op::HAdd:
    case Op::HMul:
      sum.fp16Operations += perThread;
      break;
    case Op::IntAdd:
    case Op::IntMul:
    case Op::IntDiv:
    case Op::IntOther:
      sum.integerOperations += perThread;
      break;
    default:
      break;
    }
  }
}

/// Sums the basic-block counters of the block's threads; a warp executes a basic block as often as
/// the lane that does so most.
void sumBasicBlocks() {
  uint32_t n = machine.info->blockCount, threads = machine.block.threads;
  double blockWork = 0, longestWarp = 0;
  for (uint32_t w = 0; w < machine.warpCount; ++w) {
    double work = 0;
    for (uint32_t b = 0; b < n; ++b) {
      uint64_t sum = 0;
      uint32_t most = 0;
      for (uint32_t t = w * warpLanes; t < std::min(threads, (w + 1) * warpLanes); ++t) {
        uint32_t count = machine.blockCounts[size_t(t) * n + b];
        sum += count;
        most = std::max(most, count);
      }
      if (!most)
        continue;
      state.threadExecutions[b] += double(sum);
      state.warpExecutions[b] += most;
      work += double(most) * machine.info->blocks[b].instructions;
    }
    blockWork += work;
    longestWarp = std::max(longestWarp, work);
  }
  state.imbalance += blockWork > 0 ? longestWarp * machine.warpCount / blockWork : 1;
  state.longestBlock = std::max(state.longestBlock, blockWork);
  state.blockWork += blockWork;
}

} // namespace

void beginLaunch() {
  state = State{};
  if (machine.info->mode != ImageMode::Count || !machine.kernel->countedBody)
    return;
  state.isActive = true;
  state.blocks = machine.gridDim.count();
  uint64_t wanted = machine.options->sampledBlocks;
  state.samples = wanted ? std::min<uint64_t>(wanted, state.blocks) : state.blocks;
  state.bySite.resize(machine.info->siteCount);
  state.spaceOfSite.resize(machine.info->siteCount);
  state.threadExecutions.resize(machine.info->blockCount);
  state.warpExecutions.resize(machine.info->blockCount);
}

bool beginBlock(uint64_t linear) {
  if (!state.isActive)
    return false;
  // Blocks may come in any order: the sample that this one would be.
  auto i = static_cast<uint64_t>(double(linear) * double(state.samples) / double(state.blocks));
  bool isSampled = false;
  for (uint64_t k = i ? i - 1 : 0; k <= i + 1 && k < state.samples; ++k)
    isSampled |= samplePosition(k) == linear;
  if (!isSampled)
    return false;
  ++state.sampled;
  state.turn = 0;
  state.l1.reset(machine.options->l1Bytes);
  machine.blockCounts.assign(size_t(machine.info->blockCount) * machine.block.threads, 0);
  return true;
}

void endBlock() {
  table.flush();
  sumBasicBlocks();
}

void onThreadEnd(const Thread &) { ++state.threadCount; }

void onBarrier(const Thread &) { state.barrierLanes += 1; }

void onWarpOp(const Thread &, WarpOpKind kind) {
  switch (kind) {
  case WarpOpKind::Sync:
    state.warpBarrierLanes += 1;
    break;
  case WarpOpKind::Shuffle:
    state.shuffleLanes += 1;
    break;
  case WarpOpKind::Mma:
    break;
  default:
    state.voteLanes += 1;
  }
}

KernelCounters endLaunch() {
  KernelCounters &sum = state.sum;
  for (uint32_t b = 0; b < machine.info->blockCount && state.isActive; ++b) {
    if (state.threadExecutions[b] == 0)
      continue;
    const BlockInfo &block = machine.info->blocks[b];
    for (uint32_t m = block.firstMix; m < block.firstMix + block.mixCount; ++m) {
      const MixInfo &mix = machine.info->mixes[m];
      addOps(mix.ops, state.threadExecutions[b], state.warpExecutions[b],
             lineOf(mix.file, mix.line));
    }
  }
  KernelCounters result = sum;
  double factor = state.sampled ? double(state.blocks) / double(state.sampled) : 0;
  result.scale(factor);
  result.kernel = machine.kernel->name;
  result.blocks = machine.gridDim.count();
  result.sampledBlocks = state.sampled;
  result.threadsPerBlock = machine.block.threads;
  result.staticSharedBytes = machine.kernel->staticSharedBytes;
  result.dynamicSharedBytes = machine.block.dynamicSharedBytes;
  double warpsPerBlock = (machine.block.threads + warpLanes - 1) / warpLanes;
  result.warps = double(result.blocks) * warpsPerBlock;
  // Warp level: all lanes of a warp are taken to arrive together.
  double lanes = machine.block.threads / warpsPerBlock;
  result.blockBarriers = state.barrierLanes * factor / lanes;
  result.warpBarriers = state.warpBarrierLanes * factor / lanes;
  result.shuffles = state.shuffleLanes * factor / lanes;
  result.votes = state.voteLanes * factor / lanes;
  if (state.sampled) {
    result.warpImbalance = state.imbalance / double(state.sampled);
    if (state.blockWork > 0)
      result.blockImbalance = state.longestBlock * double(state.sampled) / state.blockWork;
  }
  TrafficCounters &traffic = result.traffic;
  traffic.uniqueIsExact = state.sampled == state.blocks;
  traffic.uniqueReadBytes = state.read.extrapolatedBytes(factor);
  traffic.uniqueWrittenBytes = state.written.extrapolatedBytes(factor);
  traffic.uniqueAtomicBytes = state.atomic.extrapolatedBytes(factor);
  // What does not fit into L2 is read again from DRAM in proportion.
  double footprint = traffic.uniqueReadBytes + traffic.uniqueWrittenBytes;
  double l2 = double(machine.options->l2Bytes), missing = footprint > l2 ? 1 - l2 / footprint : 0;
  traffic.dramReadBytes = traffic.uniqueReadBytes +
                          std::max(0.0, traffic.l2ReadBytes - traffic.uniqueReadBytes) * missing;
  traffic.dramWriteBytes =
      traffic.uniqueWrittenBytes +
      std::max(0.0, traffic.l2WriteBytes - traffic.uniqueWrittenBytes) * missing;
  for (uint32_t i = 0; i < state.bySite.size(); ++i) {
    if (state.bySite[i].requests == 0)
      continue;
    const SiteInfo &info = machine.info->sites[i];
    SiteCounters site{i,
                      info.kind,
                      state.spaceOfSite[i],
                      info.bytes,
                      info.file,
                      variableName(info.array),
                      info.line,
                      info.column,
                      {},
                      info.loadGroup,
                      info.isAlone != 0};
    site.access.add(state.bySite[i], factor);
    result.sites.push_back(std::move(site));
  }
  for (auto &[key, line] : state.byLine) {
    result.lines.push_back(line);
    result.lines.back().scale(factor);
  }
  if (!state.isActive)
    findings::note("the image has no counted body of " + std::string(machine.kernel->displayName));
  state = State{};
  return result;
}

} // namespace kbrt::count

using namespace kbrt;

extern "C" {

void kbrt_count_access(uint32_t site, const void *pointer, uint64_t key) {
  if (!machine.isCounting)
    return;
  machine.lastSite = site;
  Fiber &self = machine.currentFiber();
  count::table.add(self.thread.warp, self.thread.lane, site, key,
                   reinterpret_cast<uint64_t>(pointer));
  if (++count::state.turn >= count::accessesPerTurn) {
    count::state.turn = 0;
    machine.switchAway();
  }
}

void kbrt_count_branch(uint32_t branch, uint32_t outcome, uint64_t key) {
  if (!machine.isCounting)
    return;
  Fiber &self = machine.currentFiber();
  count::table.add(self.thread.warp, self.thread.lane, branch | count::branchBit, key, outcome);
}
}
