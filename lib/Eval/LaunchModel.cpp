//===- LaunchModel.cpp - From counts to cycles per resource ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the constants that only counts need; others are in Target/LaunchCosts.h. Each is marked with
// its source; those without a public source are called assumptions here and in docs/CostModel.md.
//
//===----------------------------------------------------------------------===//
#include "LaunchModel.h"
#include "kb-opt/Target/LaunchCosts.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
using kbrt::Op;

namespace kbopt {
namespace {

/// Instructions that nvcc makes of one IEEE division or square root (fma pipe),
/// one 32-bit integer division (alu) and one fp64 division: from its SASS.
constexpr double divisionFma = 8, divisionAlu = 20, divisionFp64 = 10;
/// From a branch to the next instruction (Volta to Hopper, SASS control codes). Assumption.
constexpr double branchCycles = 10;
/// Instructions of a loop's test that unrolling removes: add, compare (both alu), branch.
constexpr double loopTestAlu = 2, loopTestInstructions = 3;
/// Clocks between two warps' atomics to one 128-byte line. Measured on an H200: a million random
/// atomics take 247 us on 32 counters of one line, 274 us on 256 of eight. Taken for others too.
constexpr double atomicLineCycles = 16;
/// Clocks between two lanes' additions of floats at one address. Measured on an H200: a million to
/// one address take 1850 us, 2 to 32 lanes of a warp to one address 57.9 us a lane.
constexpr double atomicLaneCycles = 3.5;
double op(const std::array<double, kbrt::opCount> &by, std::initializer_list<Op> ops) {
  double sum = 0;
  for (Op o : ops)
    sum += by[static_cast<size_t>(o)];
  return sum;
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
  double loopTests = model.schedule.unrolledIterations * c.warps;
  issued = std::max(0.0, issued - loopTests * loopTestInstructions);
  model.issue = model.onBusiestSm(issued, chip.schedulersPerSm);
  model.fma = lanes(op(w, {Op::FAdd, Op::FMul, Op::FFma, Op::FOther}) + fdiv * divisionFma,
                    chip.fp32PerClock) +
              lanes(op(w, {Op::IntMul}), chip.int32PerClock); // IMAD runs beside FFMA
  double integers = op(w, {Op::IntAdd, Op::IntOther}) - loopTests * loopTestAlu;
  model.alu = lanes(std::max(0.0, integers) + idiv * divisionAlu, chip.int32PerClock);
  model.xu = lanes(op(w, {Op::Special, Op::Convert}) + fdiv + idiv + ddiv, chip.sfuPerClock);
  model.fp64 = lanes(op(w, {Op::DAdd, Op::DMul, Op::DFma, Op::DOther}) + ddiv * divisionFp64,
                     chip.fp64PerClock);
  model.half = lanes(op(w, {Op::HAdd, Op::HMul, Op::HFma, Op::HOther}), chip.fp16PerClock);
  model.tensor = model.onBusiestSm(c.tensorOperations / 2, chip.tensorFp16PerClock);

  double local =
      model.usesLocalMemory ? c.localLoad.lineWavefronts + c.localStore.lineWavefronts : 0;
  double global = c.globalLoad.lineWavefronts + c.globalStore.lineWavefronts +
                  c.globalAtomic.lineWavefronts + local;
  double shared = c.sharedLoad.sharedWavefronts + c.sharedStore.sharedWavefronts +
                  c.sharedAtomic.sharedWavefronts;
  model.globalWavefronts = model.onBusiestSm(global, chip.lsuWavefrontsPerClock);
  model.sharedWavefronts = model.onBusiestSm(shared, chip.lsuWavefrontsPerClock);
  model.storeDrain = model.onBusiestSm(c.globalStore.lineWavefronts * (storeLineCycles - 1),
                                       chip.lsuWavefrontsPerClock);
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
    model.dram =
        (t.dramReadBytes + t.dramWriteBytes) / (sustainedDram * chip.dramBytesPerSecond) * hz;
  double l2Bytes = t.l2ReadBytes + t.l2WriteBytes + t.l2AtomicBytes;
  if (chip.l2BytesPerSecond > 0)
    model.l2 = l2Bytes / chip.l2BytesPerSecond * hz;
  if (model.activeSms > 0)
    model.l2 = std::max(model.l2, l2Bytes / (model.activeSms * l2BytesPerSmClock));
  const kbrt::AccessCounters &atomic = model.counters.globalAtomic;
  if (chip.l2AtomicsPerClock > 0)
    model.atomics = atomic.sectors / chip.l2AtomicsPerClock;
  // One line lies in one slice of L2.
  const double lanes = atomic.requests > 0 ? atomic.atomicSerialisation / atomic.requests : 0;
  model.atomics = std::max(model.atomics, atomic.lineWavefronts * t.atomicLineShare *
                                              std::max(atomicLineCycles, lanes * atomicLaneCycles));
  if (model.counters.warps > 0)
    model.blockStarts = static_cast<double>(model.shape.blocks) * blockStartCycles;
}

/// Of what misses L1.
double memoryLatency(const LaunchModel &model) {
  return model.l2MissShare * model.chip.dramLatencyCycles +
         (1 - model.l2MissShare) * model.chip.l2LatencyCycles;
}

void addLatency(LaunchModel &model) {
  const kbrt::KernelCounters &c = model.counters;
  const ChipInfo &chip = model.chip;
  if (c.warps <= 0)
    return;
  const kbrt::TrafficCounters &t = c.traffic;
  // The blocks of the first wave run in step: all that need a sector wait after the first read of
  // it for DRAM. Later waves find in L2 what others have read.
  if (t.l2ReadBytes > 0) {
    double later = std::min(1.0, t.dramReadBytes / t.l2ReadBytes),
           waves = std::max(1.0, model.waves);
    model.l2MissShare = (1 + (waves - 1) * later) / waves;
  }
  for (const LoadRound &round : model.schedule.global)
    model.globalLatency +=
        round.perWarp * (round.service + chip.l1LatencyCycles +
                         round.missesL1 * (memoryLatency(model) - chip.l1LatencyCycles));
  double conflicts =
      c.sharedLoad.requests > 0 ? c.sharedLoad.sharedWavefronts / c.sharedLoad.requests - 1 : 0;
  double sharedRounds = 0;
  for (const LoadRound &round : model.schedule.shared)
    sharedRounds += round.perWarp;
  model.sharedLatency = sharedRounds * (chip.sharedLatencyCycles + std::max(0.0, conflicts)) +
                        c.shuffles / c.warps * chip.sharedLatencyCycles;
  model.instructionsPerWarp = std::max(
      1.0, c.warpInstructions / c.warps - model.schedule.unrolledIterations * loopTestInstructions);
  model.arithmeticLatency =
      model.instructionsPerWarp * chip.aluLatencyCycles / instructionParallelism;
  model.branchLatency =
      std::max(0.0, c.branches / c.warps - model.schedule.unrolledIterations) * branchCycles;
  // Warps of a block wait at a barrier for the slowest one.
  double sinceLast = model.globalLatency + model.sharedLatency + model.arithmeticLatency;
  double barrier = barrierOf(std::ceil(model.shape.threadsPerBlock / 32.0));
  model.barrierLatency = c.blockBarriers / c.warps * barrier +
                         (c.blockBarriers > 0 ? (c.warpImbalance - 1) * sinceLast : 0);
  // Equal blocks end in whole waves; after many waves they have drifted apart. The longest block
  // takes as long as so many mean ones.
  const double turns = turnsOfWaves(model.waves);
  model.waveCount = std::max(turns, c.blockImbalance);
  model.blockLatency =
      blockTurnCycles * (turns - 1) / model.waveCount; // the first is in the launch's overhead
  model.latency = model.waveCount * model.warpLatency();
}

} // namespace

double LaunchModel::onBusiestSm(double total, double perClock) const {
  if (total <= 0 || perClock <= 0 || shape.blocks == 0)
    return 0;
  return total / static_cast<double>(shape.blocks) * blocksOnBusiestSm / perClock;
}

double LaunchModel::interleaved(double work) const {
  double perWarp = 0;
  for (const LoadRound &round : schedule.global)
    perWarp += round.perWarp;
  if (perWarp <= 0)
    return turnOf(work, latency, residentWarps);
  // The resources' work and the other waiting are spread evenly over the rounds.
  double share = work / (waveCount * perWarp), other = (warpLatency() - globalLatency) / perWarp;
  double cycles = 0;
  for (const LoadRound &round : schedule.global) {
    auto turn = [&](double memory) {
      return turnOf(share, memory + round.service + other, residentWarps);
    };
    double missing =
        l2MissShare * turn(chip.dramLatencyCycles) + (1 - l2MissShare) * turn(chip.l2LatencyCycles);
    cycles += round.perWarp *
              ((1 - round.missesL1) * turn(chip.l1LatencyCycles) + round.missesL1 * missing);
  }
  return waveCount * cycles;
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

  // Uneven blocks keep as many places busy as blocks of the longest one's work would.
  const double imbalance = std::max(1.0, counters.blockImbalance);
  double blocks = static_cast<double>(shape.blocks), sms = std::max(1.0, chip.smCount);
  model.blocksOnBusiestSm = std::max(std::ceil(blocks / sms), imbalance);
  model.activeSms = std::min(blocks / imbalance, sms);
  double resident = std::max(1u, model.occupancy.blocksPerSm) * sms;
  model.waves = blocks / resident;
  double warpsPerBlock = std::ceil(shape.threadsPerBlock / static_cast<double>(kbrt::warpLanes));
  model.residentWarps = std::min<double>(model.occupancy.warpsPerSm,
                                         warpsPerBlock * model.blocksOnBusiestSm / imbalance);
  // Arrays that the source declares locally mostly end in registers; only the
  // machine code knows.
  model.usesLocalMemory = !resources || !resources->stackBytes || *resources->stackBytes > 0;
  model.schedule = scheduleLoads(counters);
  addPipes(model);
  addTraffic(model);
  addLatency(model);
  return model;
}

} // namespace kbopt
