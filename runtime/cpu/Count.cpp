//===- Count.cpp - counting on sampled blocks -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Count.h"
#include "BlockWork.h"
#include "Cache.h"
#include "Findings.h"
#include "Requests.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>

namespace kbrt::count {

namespace {

/// A lane hands over after as many accesses, so that warps and lanes advance together as they do on
/// a chip: the caches see their accesses interleaved.
constexpr uint32_t accessesPerTurn = 16;

using LineKey = std::pair<std::string_view, unsigned>;

/// What was counted in one sampled block; in all of them, each with its weight, at the end.
struct Sample {
  KernelCounters sum;
  std::vector<AccessCounters> bySite;
  std::map<LineKey, LineCounters> byLine;
  std::vector<double> threadExecutions, warpExecutions; ///< of basic blocks
  double barrierLanes = 0, warpBarrierLanes = 0, shuffleLanes = 0, voteLanes = 0;
  double imbalance = 0; ///< of its warps
  double sectors() const {
    return sum.globalLoad.sectors + sum.globalStore.sectors + sum.globalAtomic.sectors;
  }
  double blocks = 0;
  uint64_t work = 0; ///< instructions of its threads

  Sample()
      : bySite(machine.info->siteCount), threadExecutions(machine.info->blockCount),
        warpExecutions(machine.info->blockCount) {}
  void add(const Sample &other, double factor);
};

struct State {
  bool isActive = false, isSampled = false, isSurvey = false;
  std::vector<uint64_t> chosen; ///< blocks, in rising order; empty: they are spread over the grid
  uint64_t blocks = 0, samples = 0, sampled = 0;
  std::vector<Sample> counted;          ///< one for all where every block is sampled
  std::vector<MemorySpace> spaceOfSite; ///< where its first request went
  Footprint read, written;
  SectorCache l1;
  uint32_t turn = 0;
  BlockWork work;
  uint64_t workBefore = 0;
  AtomicLines atomics;

  bool areAllSampled() const { return samples == blocks; }
  Sample &now() { return counted.back(); }
} state;

void Sample::add(const Sample &other, double factor) {
  sum.add(other.sum, factor);
  for (size_t i = 0; i < bySite.size(); ++i)
    bySite[i].add(other.bySite[i], factor);
  for (const auto &[key, line] : other.byLine) {
    LineCounters &same = byLine.try_emplace(key, LineCounters{line.file, line.line}).first->second;
    same.add(line, factor);
  }
  for (size_t i = 0; i < threadExecutions.size(); ++i) {
    threadExecutions[i] += other.threadExecutions[i] * factor;
    warpExecutions[i] += other.warpExecutions[i] * factor;
  }
  for (auto field : {&Sample::barrierLanes, &Sample::warpBarrierLanes, &Sample::shuffleLanes,
                     &Sample::voteLanes, &Sample::imbalance, &Sample::blocks})
    this->*field += other.*field * factor;
}

void finishRequest(const Request &request);
RequestTable table(finishRequest);

LineCounters &lineOf(Sample &sample, const char *file, unsigned line) {
  LineCounters &counters = sample.byLine[{file, line}];
  if (counters.file.empty()) {
    counters.file = file;
    counters.line = line;
  }
  return counters;
}

/// Number of the i-th sampled block where they are spread over the grid: a place in the i-th of
/// equal parts that differs from part to part, so that a pattern of blocks is not met at one place
/// of it. Of the first part it is the first block, which has work where any has.
uint64_t samplePosition(uint64_t i) {
  constexpr double golden = 0.6180339887498949;
  if (i == 0)
    return 0;
  const double within = double(i) * golden - std::floor(double(i) * golden);
  return static_cast<uint64_t>((double(i) + within) * double(state.blocks) / double(state.samples));
}

bool isChosen(uint64_t linear) {
  if (!state.chosen.empty())
    return std::binary_search(state.chosen.begin(), state.chosen.end(), linear);
  // Blocks may come in any order: the sample that this one would be.
  auto i = static_cast<uint64_t>(double(linear) * double(state.samples) / double(state.blocks));
  bool found = false;
  for (uint64_t k = i ? i - 1 : 0; k <= i + 1 && k < state.samples; ++k)
    found |= samplePosition(k) == linear;
  return found;
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
  KernelCounters &sum = state.now().sum;
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
  state.now().sum.branches += 1;
  state.now().sum.divergentBranches += isDivergent;
  LineCounters &line = lineOf(state.now(), info.file, info.line);
  line.branches += 1;
  line.divergentBranches += isDivergent;
}

/// Sends the sectors through L1; returns how many of them were there.
unsigned countTraffic(const Measures &m, const SiteInfo &site) {
  TrafficCounters &traffic = state.now().sum.traffic;
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
    if (site.kind == AccessKind::Atomic)
      state.read.touch(m.sector[i], block);
  }
  return 0;
}

/// Whether the chip does the lanes' operations on one address one after the other: it combines
/// those of integers, floats it does not.
bool isSerial(const SiteInfo &site) {
  const std::string_view operation = site.detail ? site.detail : "";
  return operation.find(".fadd") != operation.npos || operation.find(".fsub") != operation.npos;
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
  LineCounters &line = lineOf(state.now(), site.file, site.line);
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
    one.atomicSerialisation = isSerial(site) ? m.serialisation : 1;
  totalOf(space, site.kind)->add(one);
  state.now().bySite[request.site].add(one);
  state.spaceOfSite[request.site] = space;
}

void addOps(const uint16_t *ops, double threads, double warps, KernelCounters &sum,
            LineCounters &line) {
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
  Sample &sample = state.now();
  double blockWork = 0, longestWarp = 0;
  uint64_t threadWork = 0;
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
      sample.threadExecutions[b] += double(sum);
      sample.warpExecutions[b] += most;
      threadWork += sum * machine.info->blocks[b].instructions;
      work += double(most) * machine.info->blocks[b].instructions;
    }
    blockWork += work;
    longestWarp = std::max(longestWarp, work);
  }
  sample.imbalance += blockWork > 0 ? longestWarp * machine.warpCount / blockWork : 1;
  sample.blocks += 1;
  sample.work += threadWork;
  state.work.add(threadWork);
}

/// How many blocks each of the sampled ones stands for, in the order in which they ran.
std::vector<double> sampleWeights() {
  if (state.areAllSampled())
    return std::vector<double>(state.sampled, 1);
  std::vector<uint64_t> works;
  for (const Sample &sample : state.counted)
    works.push_back(sample.work);
  return state.work.weights(works);
}

/// The standard error of a total that the sampled blocks are scaled to, over that total: what they
/// have of it for each instruction differs from block to block. Cochran, Sampling Techniques, 3rd
/// edition, section 6.4.
double errorOf(const std::vector<double> &weights, double (*amount)(const Sample &)) {
  double work = 0, all = 0, squares = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    work += weights[i] * double(state.counted[i].work);
    all += weights[i] * amount(state.counted[i]);
  }
  if (work == 0 || all == 0)
    return 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Sample &sample = state.counted[i];
    const double differs = amount(sample) - all / work * double(sample.work);
    squares += weights[i] * std::max(0.0, weights[i] - 1) * differs * differs;
  }
  return std::sqrt(squares) / all;
}

/// The largest such error of what the model asks of memory.
double sampleError(const std::vector<double> &weights) {
  if (state.areAllSampled())
    return 0;
  return std::max(errorOf(weights, [](const Sample &sample) { return sample.sectors(); }),
                  errorOf(weights, [](const Sample &sample) {
                    return sample.sum.sharedLoad.sharedWavefronts +
                           sample.sum.sharedStore.sharedWavefronts;
                  }));
}

} // namespace

void beginLaunch() {
  state = State{};
  table.clear();
  if (machine.info->mode != ImageMode::Count || !machine.kernel->countedBody)
    return;
  state.isActive = true;
  state.blocks = machine.gridDim.count();
  uint64_t wanted = machine.options->sampledBlocks;
  state.samples = wanted ? std::min<uint64_t>(wanted, state.blocks) : state.blocks;
  state.spaceOfSite.resize(machine.info->siteCount);
}

bool needsSurvey() { return state.isActive && !state.areAllSampled(); }

void beginSurvey() { state.isSurvey = true; }

uint64_t workSoFar() { return kbrt_work; }

void chooseBlocks(std::span<const uint64_t> work) {
  state.chosen = blocksByWork(work, state.samples);
}

bool beginBlock(uint64_t linear) {
  if (!state.isActive)
    return false;
  state.workBefore = kbrt_work;
  state.isSampled = !state.isSurvey && isChosen(linear);
  if (!state.isSampled)
    return false;
  if (state.counted.empty() || !state.areAllSampled())
    state.counted.emplace_back();
  ++state.sampled;
  state.turn = 0;
  state.l1.reset(machine.options->l1Bytes);
  machine.blockCounts.assign(size_t(machine.info->blockCount) * machine.block.threads, 0);
  return true;
}

void endBlock() {
  if (!state.isActive)
    return;
  if (!state.isSampled)
    return state.work.add(kbrt_work - state.workBefore);
  table.flush();
  sumBasicBlocks();
}

void onBarrier(const Thread &) { state.now().barrierLanes += 1; }

void onWarpOp(const Thread &, WarpOpKind kind) {
  switch (kind) {
  case WarpOpKind::Sync:
    state.now().warpBarrierLanes += 1;
    break;
  case WarpOpKind::Shuffle:
    state.now().shuffleLanes += 1;
    break;
  case WarpOpKind::Mma:
    break;
  default:
    state.now().voteLanes += 1;
  }
}

KernelCounters endLaunch() {
  const std::vector<double> weights = sampleWeights();
  Sample total;
  for (size_t i = 0; i < state.counted.size(); ++i)
    total.add(state.counted[i], weights[i]);
  for (uint32_t b = 0; b < machine.info->blockCount && state.isActive; ++b) {
    if (total.threadExecutions[b] == 0)
      continue;
    const BlockInfo &block = machine.info->blocks[b];
    for (uint32_t m = block.firstMix; m < block.firstMix + block.mixCount; ++m) {
      const MixInfo &mix = machine.info->mixes[m];
      addOps(mix.ops, total.threadExecutions[b], total.warpExecutions[b], total.sum,
             lineOf(total, mix.file, mix.line));
    }
  }
  KernelCounters result = std::move(total.sum);
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
  result.blockBarriers = total.barrierLanes / lanes;
  result.warpBarriers = total.warpBarrierLanes / lanes;
  result.shuffles = total.shuffleLanes / lanes;
  result.votes = total.voteLanes / lanes;
  if (total.blocks > 0)
    result.warpImbalance = total.imbalance / total.blocks;
  result.blockImbalance = state.work.imbalance();
  result.sampleError = float(sampleError(weights));
  TrafficCounters &traffic = result.traffic;
  traffic.uniqueIsExact = state.sampled == state.blocks;
  traffic.uniqueReadBytes = state.read.extrapolatedBytes(weights);
  traffic.uniqueWrittenBytes = state.written.extrapolatedBytes(weights);
  traffic.atomicLineShare = state.atomics.largestShare();
  // What does not fit into L2 is read again from DRAM in proportion.
  double footprint = traffic.uniqueReadBytes + traffic.uniqueWrittenBytes;
  double l2 = double(machine.options->l2Bytes), missing = footprint > l2 ? 1 - l2 / footprint : 0;
  traffic.dramReadBytes = traffic.uniqueReadBytes +
                          std::max(0.0, traffic.l2ReadBytes - traffic.uniqueReadBytes) * missing;
  traffic.dramWriteBytes =
      traffic.uniqueWrittenBytes +
      std::max(0.0, traffic.l2WriteBytes - traffic.uniqueWrittenBytes) * missing;
  for (uint32_t i = 0; i < total.bySite.size(); ++i) {
    if (total.bySite[i].requests == 0)
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
    site.access = total.bySite[i];
    result.sites.push_back(std::move(site));
  }
  for (auto &[key, line] : total.byLine)
    result.lines.push_back(std::move(line));
  if (!state.isActive)
    findings::note("the image has no counted body of " + std::string(machine.kernel->displayName));
  state = State{};
  return result;
}

void onBulkRead(uint32_t site, uint64_t address, uint64_t bytes) {
  // As a warp would read it, each lane as much as one access has at most.
  constexpr uint64_t bytesOfLane = 16;
  static uint64_t key = 0;
  ++key;
  const uint32_t warp = machine.current().warp;
  for (uint64_t at = 0; at < bytes; at += bytesOfLane)
    table.add(warp, static_cast<uint32_t>(at / bytesOfLane % warpLanes), site, key, address + at);
}

} // namespace kbrt::count

using namespace kbrt;

extern "C" {

uint64_t kbrt_work = 0;

void kbrt_count_atomic(const void *pointer) {
  if (const auto address = reinterpret_cast<uint64_t>(pointer); isDeviceAddress(address))
    count::state.atomics.add(address);
}

void kbrt_count_access(uint32_t site, const void *pointer, uint64_t key) {
  if (!machine.isCounting)
    return;
  machine.lastSite = site;
  Fiber &self = machine.currentFiber();
  count::table.add(self.thread.warp, self.thread.lane, site, key,
                   reinterpret_cast<uint64_t>(pointer));
  if (machine.info->sites[site].kind == AccessKind::Atomic)
    kbrt_count_atomic(pointer);
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
