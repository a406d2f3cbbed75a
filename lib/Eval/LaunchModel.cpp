//===- LaunchModel.cpp - From counts to cycles per resource ---------------===//
//
// Owns the constants of the model that are not in knowledge/devices. Each is
// marked with its source; those without a public source are called assumptions
// here and in docs/CostModel.md.
//
//===----------------------------------------------------------------------===//
#include "LaunchModel.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
using kbrt::Op;

namespace kbopt {
namespace {

/// Share of the data-sheet DRAM bandwidth that a streaming kernel reaches.
/// Estimate, of the order of BabelStream's results on A100 and H100.
constexpr double sustainedDram = 0.92;
/// Bytes per clock between L2 and one SM (Jia et al., Dissecting the NVIDIA
/// Volta GPU Architecture via Microbenchmarking, 2018: 64 B).
constexpr double l2BytesPerSmClock = 64;
/// Instructions that nvcc makes of one IEEE division or square root (fma pipe),
/// one 32-bit integer division (alu) and one fp64 division: from its SASS.
constexpr double divisionFma = 8, divisionAlu = 20, divisionFp64 = 10;
/// Independent instructions between dependent ones in compiled code. Assumption.
constexpr double instructionParallelism = 2;
/// Loads that nvcc keeps in flight in a loop without barriers: it unrolls such
/// loops by 4. Observed in SASS; not documented.
constexpr double unrolledLoads = 4;
/// Loads of one warp in flight at most: registers run out. Assumption.
constexpr double maximumLoadsInFlight = 16;
/// A block barrier with all warps present. Estimate.
constexpr double barrierCycles = 30;
/// From a branch to the next instruction (Volta to Hopper, SASS control codes). Assumption.
constexpr double branchCycles = 10;

double op(const std::array<double, kbrt::opCount> &by, std::initializer_list<Op> ops) {
  double sum = 0;
  for (Op o : ops)
    sum += by[static_cast<size_t>(o)];
  return sum;
}

/// Rounds of waiting per warp: sites that run equally often stand in one loop
/// body and wait together, as far as loads fit in flight.
double waitingRounds(const kbrt::KernelCounters &counters, bool shared) {
  std::map<long, double> sitesByCount; // key: log of requests per warp in steps of 5 %
  for (const kbrt::SiteCounters &site : counters.sites) {
    bool isShared = site.space == kbrt::MemorySpace::Shared;
    bool waits = site.kind == kbrt::AccessKind::Load || site.kind == kbrt::AccessKind::Atomic;
    bool counted = isShared == shared && waits && site.space != kbrt::MemorySpace::Constant &&
                   site.space != kbrt::MemorySpace::Param && site.space != kbrt::MemorySpace::Local;
    if (counted && site.access.requests > 0 && counters.warps > 0)
      sitesByCount[std::lround(std::log(site.access.requests / counters.warps) / 0.05)] += 1;
  }
  double rounds = 0;
  double barriersPerWarp = counters.warps > 0 ? counters.blockBarriers / counters.warps : 0;
  for (const auto &[key, sites] : sitesByCount) {
    double perWarp = std::exp(0.05 * static_cast<double>(key));
    bool fenced = barriersPerWarp > 0.5 * perWarp;
    double inFlight = fenced ? sites : std::max(sites, std::min(unrolledLoads, perWarp * sites));
    inFlight = std::min(inFlight, maximumLoadsInFlight);
    rounds += perWarp * sites / std::max(1.0, inFlight);
  }
  return rounds;
}

void addPipes(LaunchModel &model) {
  const kbrt::KernelCounters &c = model.counters;
  const ChipInfo &chip = model.chip;
  const auto &w = c.warpInstructionsByOp;
  auto lanes = [&](double warpInstructions, double perClock) {
    return model.onBusiestSm(warpInstructions * kbrt::warpLanes, perClock);
  };
  double fdiv = op(w, {Op::FDiv}), idiv = op(w, {Op::IntDiv}), ddiv = op(w, {Op::DDiv});
  // The expansions of divisions are issued too.
  double issued = c.warpInstructions + fdiv * (divisionFma - 1) + idiv * (divisionAlu - 1) +
                  ddiv * (divisionFp64 - 1);
  model.issue = model.onBusiestSm(issued, chip.schedulersPerSm);
  model.fma = lanes(op(w, {Op::FAdd, Op::FMul, Op::FFma, Op::FOther}) + fdiv * divisionFma,
                    chip.fp32PerClock) +
              lanes(op(w, {Op::IntMul}), chip.int32PerClock); // IMAD runs beside FFMA
  model.alu = lanes(op(w, {Op::IntAdd, Op::IntOther}) + idiv * divisionAlu, chip.int32PerClock);
  model.xu = lanes(op(w, {Op::Special, Op::Convert}) + fdiv + idiv + ddiv, chip.sfuPerClock);
  model.fp64 = lanes(op(w, {Op::DAdd, Op::DMul, Op::DFma, Op::DOther}) + ddiv * divisionFp64,
                     chip.fp64PerClock);
  model.half = lanes(op(w, {Op::HAdd, Op::HMul, Op::HFma, Op::HOther}), chip.fp16PerClock);
  model.tensor = model.onBusiestSm(c.tensorOperations / 2, chip.tensorFp16PerClock);

  double local = model.usesLocalMemory ? c.localLoad.lineWavefronts + c.localStore.lineWavefronts : 0;
  double global = c.globalLoad.lineWavefronts + c.globalStore.lineWavefronts +
                  c.globalAtomic.lineWavefronts + local;
  double shared =
      c.sharedLoad.sharedWavefronts + c.sharedStore.sharedWavefronts + c.sharedAtomic.sharedWavefronts;
  model.globalWavefronts = model.onBusiestSm(global, chip.lsuWavefrontsPerClock);
  model.sharedWavefronts = model.onBusiestSm(shared, chip.lsuWavefrontsPerClock);
  model.lsu = lanes(c.globalLoad.requests + c.globalStore.requests + c.globalAtomic.requests +
                        c.sharedLoad.requests + c.sharedStore.requests + c.sharedAtomic.requests +
                        c.shuffles,
                    chip.lsuLanesPerClock);
}

void addTraffic(LaunchModel &model) {
  const kbrt::TrafficCounters &t = model.counters.traffic;
  const ChipInfo &chip = model.chip;
  const double hz = chip.clockHz();
  if (chip.dramBytesPerSecond > 0)
    model.dram = (t.dramReadBytes + t.dramWriteBytes) / (sustainedDram * chip.dramBytesPerSecond) * hz;
  double l2Bytes = t.l2ReadBytes + t.l2WriteBytes + t.l2AtomicBytes;
  if (chip.l2BytesPerSecond > 0)
    model.l2 = l2Bytes / chip.l2BytesPerSecond * hz;
  if (model.activeSms > 0)
    model.l2 = std::max(model.l2, l2Bytes / (model.activeSms * l2BytesPerSmClock));
  if (chip.l2AtomicsPerClock > 0)
    model.atomics = model.counters.globalAtomic.lanes / chip.l2AtomicsPerClock;
}

void addLatency(LaunchModel &model) {
  const kbrt::KernelCounters &c = model.counters;
  const ChipInfo &chip = model.chip;
  if (c.warps <= 0)
    return;
  const kbrt::TrafficCounters &t = c.traffic;
  double l1Hit = t.l1LoadSectors > 0 ? t.l1LoadHitSectors / t.l1LoadSectors : 0;
  double l2Miss = t.l2ReadBytes > 0 ? std::min(1.0, t.dramReadBytes / t.l2ReadBytes) : 0;
  double memory = l1Hit * chip.l1LatencyCycles +
                  (1 - l1Hit) * (l2Miss * chip.dramLatencyCycles + (1 - l2Miss) * chip.l2LatencyCycles);
  model.globalLatency = waitingRounds(c, /*shared=*/false) * memory;
  double conflicts = c.sharedLoad.requests > 0
                         ? c.sharedLoad.sharedWavefronts / c.sharedLoad.requests - 1
                         : 0;
  model.sharedLatency =
      waitingRounds(c, /*shared=*/true) * (chip.sharedLatencyCycles + std::max(0.0, conflicts)) +
      c.shuffles / c.warps * chip.sharedLatencyCycles;
  model.instructionsPerWarp = c.warpInstructions / c.warps;
  model.arithmeticLatency = model.instructionsPerWarp * chip.aluLatencyCycles / instructionParallelism;
  model.branchLatency = c.branches / c.warps * branchCycles;
  // Warps of a block wait at a barrier for the slowest one.
  double sinceLast = model.globalLatency + model.sharedLatency + model.arithmeticLatency;
  model.barrierLatency = c.blockBarriers / c.warps * barrierCycles +
                         (c.blockBarriers > 0 ? (c.warpImbalance - 1) * sinceLast : 0);
  // Equal blocks end in whole waves; after many waves they have drifted apart.
  double waves = model.waves < 8 ? std::ceil(model.waves) : model.waves + 0.5;
  model.latency = std::max(1.0, waves) * model.warpLatency();
}

} // namespace

double LaunchModel::onBusiestSm(double total, double perClock) const {
  if (total <= 0 || perClock <= 0 || shape.blocks == 0)
    return 0;
  return total / static_cast<double>(shape.blocks) * blocksOnBusiestSm / perClock;
}

LaunchModel analyseLaunch(const kbrt::KernelCounters &counters, const LaunchShape &shape,
                          const KernelResources *resources, const ChipInfo &chip) {
  LaunchModel model(counters, shape, resources, chip);
  OccupancyRequest request;
  request.threadsPerBlock = shape.threadsPerBlock;
  request.registersPerThread = resources ? resources->registers.value_or(0) : 0;
  uint64_t staticShared = counters.staticSharedBytes;
  if (resources && resources->sharedBytes)
    staticShared = *resources->sharedBytes;
  request.sharedBytesPerBlock = staticShared + shape.dynamicSharedBytes;
  model.occupancy = computeOccupancy(chip, request);

  double blocks = static_cast<double>(shape.blocks), sms = std::max(1.0, chip.smCount);
  model.blocksOnBusiestSm = std::ceil(blocks / sms);
  model.activeSms = std::min(blocks, sms);
  double resident = std::max(1u, model.occupancy.blocksPerSm) * sms;
  model.waves = blocks / resident;
  double warpsPerBlock = std::ceil(shape.threadsPerBlock / static_cast<double>(kbrt::warpLanes));
  model.residentWarps =
      std::min<double>(model.occupancy.warpsPerSm, warpsPerBlock * model.blocksOnBusiestSm);
  // Arrays that the source declares locally mostly end in registers; only the
  // machine code knows.
  model.usesLocalMemory = !resources || !resources->stackBytes || *resources->stackBytes > 0;
  addPipes(model);
  addTraffic(model);
  addLatency(model);
  return model;
}

} // namespace kbopt
