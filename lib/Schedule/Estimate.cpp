//===- Estimate.cpp - What a schedule should take ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the model: what one block does (BlockSampler.h), as often as there are blocks. Constants and
// the way to join them are those of all modelled launches (Target/LaunchCosts.h).
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Schedule/Estimate.h"
#include "BlockSampler.h"
#include "ContractionRanking.h"
#include "kb-opt/Target/LaunchCosts.h"
#include "kb-opt/Target/Occupancy.h"
#include <cmath>

using namespace kbopt;
using namespace mlir;

namespace {

/// Instructions of an integer division by a value that is no constant: nvcc's SASS.
constexpr double divisionInstructions = 20;
/// Of L2, what stays there for a second reader. Assumption.
constexpr double keptOfL2 = 0.8;

class Estimator {
public:
  Estimator(kb::NestOp nest, const Placement &placement, ArrayRef<SizedDim> dims,
            const LaunchSizes &sizes, const ChipInfo &chip)
      : nest(nest), placement(placement), dims(dims), sizes(sizes), chip(chip), work(nest, dims),
        points(nest.getDims().size()), loads(placement, dims, points),
        stores(placement.stores ? *placement.stores : placement, dims, points) {}

  LaunchEstimate run();

private:
  kb::NestOp nest;
  const Placement &placement;
  ArrayRef<SizedDim> dims;
  const LaunchSizes &sizes;
  const ChipInfo &chip;
  NestWork work;

  size_t points; ///< dimensions of the nest; loops follow
  BlockSampler loads, stores;
  double blocks = 1, warpsOfBlock = 1, resident = 1, onBusiest = 1, waves = 1;
  /// Bytes of an array that DRAM has moved, loaded or stored.
  std::map<std::pair<const void *, bool>, double> ofArray;
  /// Of a block, but for `dramBytes`, which is of the launch, and what a warp waits for.
  double lines = 0, l2Sectors = 0, instructions = 0, special = 0, doubles = 0, atomics = 0,
         dramBytes = 0, rounds = 0, missedRounds = 0, waiting = 0;

  double iterations(ArrayRef<unsigned> around) const {
    double all = 1;
    for (unsigned dim : around)
      all *= double(loads.turnsOf(dim).count);
    return all;
  }
  void shapeLaunch();
  bool isInTile(const AccessGroup &group) const;
  void addGroup(const AccessGroup &group);
  void addTile(const AccessGroup &group, const BlockTraffic &traffic);
  void addDram(const AccessGroup &group, const BlockTraffic &traffic);
  void addRounds(const AccessGroup &group, const BlockTraffic &traffic);
  void addStatements();
  void addTeam();
  double heldRegisters() const;
  double waitingOfWarp() const;
  LaunchEstimate combine() const;
};

double Estimator::heldRegisters() const {
  double held = 28 + double(placement.held);
  if (placement.keepsRows)
    held += double(placement.inflight * placement.vector);
  else
    held += double(std::max<int64_t>(1, placement.inflight) * placement.vector) / 2;
  return std::min(held, 128.0);
}

void Estimator::shapeLaunch() {
  OccupancyRequest request;
  request.threadsPerBlock = unsigned(placement.block);
  request.registersPerThread = unsigned(heldRegisters());
  request.sharedBytesPerBlock = uint64_t(placement.sharedBytes);
  resident = std::max(1u, computeOccupancy(chip, request).blocksPerSm);
  blocks = std::ceil(double(placement.threads()) / double(placement.block));
  warpsOfBlock = std::ceil(double(placement.block) / lanesOfWarp);
  onBusiest = std::ceil(blocks / chip.smCount);
  waves = blocks / (resident * chip.smCount);
}

/// Whether a block loads the elements of \p group into shared memory, for all its points.
bool Estimator::isInTile(const AccessGroup &group) const {
  bool isInLoop = false;
  for (unsigned dim : group.first().dims) {
    if (group.uses(dim) && llvm::is_contained(placement.sharing, dims[dim].name))
      return false;
    isInLoop |= llvm::is_contained(placement.shared, dims[dim].name);
  }
  return isInLoop;
}

void Estimator::addGroup(const AccessGroup &group) {
  for (const PointOffset &offset : group.offsets) // once for each value of what it divides
    instructions += divisionInstructions * offset.divisions() * warpsOfBlock;
  constexpr double leastCapacity = 16384;
  const double capacity = std::max(
      leastCapacity, (chip.l1BytesPerSm - double(placement.sharedBytes) * resident) / resident);
  const BlockTraffic traffic = (group.isStore ? stores : loads).sample(group, capacity);
  const double times = group.isStore ? 1 : double(placement.reads);
  for (const WorkAccess *member : group.members)
    atomics += member->isAtomic ? traffic.sectors / double(group.members.size()) : 0;
  addDram(group, traffic);
  if (isInTile(group))
    return addTile(group, traffic);
  lines += traffic.lines * times * (group.isStore ? storeLineCycles : 1);
  // Sectors of which a request writes a part cost L2 two of its turns: transposes of floats on an
  // H200 took 280 us where their sectors alone need 131.
  constexpr double whole = 0.9;
  const double written = double(group.bytes()) * lanesOfWarp * traffic.requests * traffic.elements;
  const bool isPartial = group.isStore && written < traffic.sectors * sectorBytes * whole;
  l2Sectors += traffic.misses * times * (isPartial ? 2 : 1);
  instructions += traffic.requests * times * 2; // one of them for the address
  if (!group.isStore)
    addRounds(group, traffic);
}

/// Each element once for the block, then a broadcast from shared memory for each warp. Tiles come
/// one after the other, between two barriers.
void Estimator::addTile(const AccessGroup &group, const BlockTraffic &traffic) {
  l2Sectors += traffic.iterations * double(group.members.size() * group.bytes()) / sectorBytes;
  lines += traffic.requests;
  instructions += traffic.requests;
  double tiles = std::ceil(traffic.iterations / double(std::max<int64_t>(1, placement.tile)));
  waiting += tiles * (chip.dramLatencyCycles + 2 * barrierOf(warpsOfBlock));
}

/// Several loops over one array read it from DRAM once, as far as it stays in L2.
void Estimator::addDram(const AccessGroup &group, const BlockTraffic &traffic) {
  double distinct = group.footprint(dims);
  double atOnce = traffic.touched * sectorBytes * resident * chip.smCount;
  bool stays = std::min(atOnce, distinct) < chip.l2Bytes * keptOfL2;
  double moved = stays ? distinct : std::max(distinct, traffic.misses * sectorBytes * blocks);
  double &before = ofArray[{group.first().operand.getBase().getAsOpaquePointer(), group.isStore}];
  dramBytes += stays ? std::max(0.0, moved - before) : moved;
  before = std::max(before, moved);
}

/// A warp waits for the loads of so many iterations together.
void Estimator::addRounds(const AccessGroup &group, const BlockTraffic &traffic) {
  double words = std::max(1.0, double(group.bytes()) / 4) * traffic.elements;
  double together = double(group.members.size());
  if (placement.inflight > 0 && traffic.innermostTurns)
    together *= double(std::min(placement.inflight, traffic.innermostTurns));
  else if (traffic.isInLoop)
    together *= std::clamp(registersInFlight / (words * together), 1.0,
                           std::min(defaultUnrolling, double(traffic.innermostTurns)));
  double ofWarp = traffic.requests * double(placement.reads) / double(loads.warps()) / together;
  rounds += ofWarp;
  missedRounds += ofWarp * std::min(1.0, traffic.missShare() * together);
}

void Estimator::addStatements() {
  for (const WorkStatement &statement : work.statements) {
    double count = iterations(statement.dims) * warpsOfBlock;
    for (unsigned dim : statement.dims)
      count *= loads.isVector(dim) ? double(placement.vector) : 1;
    instructions += count * statement.instructions;
    special += count * statement.special;
    doubles += count * statement.doubles;
  }
  if (placement.isNumbered)
    instructions += double(points - 1) * divisionInstructions * warpsOfBlock;
  constexpr double loopTest = 1; // of three instructions, unrolled
  for (const DimNumbers &loop : placement.writesOut ? std::vector<DimNumbers>() : work.loops)
    instructions += iterations(loop) * warpsOfBlock * loopTest;
}

/// Combining the sums of a team.
void Estimator::addTeam() {
  if (placement.team <= 1)
    return;
  double sums = 0;
  for (const WorkStatement &statement : work.statements)
    sums += statement.combines ? 1 : 0;
  double steps = std::log2(double(std::min<int64_t>(placement.team, lanesOfWarp)));
  bool isBlock = placement.team > lanesOfWarp;
  double perSum = steps * (chip.sharedLatencyCycles + chip.aluLatencyCycles);
  if (isBlock)
    perSum += 2 * barrierOf(warpsOfBlock) + 2 * chip.sharedLatencyCycles;
  double times = 1;
  if (findSketch("scan")->whyNot(nest).empty() && !placement.turns.empty() && sums == 0) {
    sums = 1;
    times = double(placement.turns.begin()->second.count);
  }
  waiting += std::max(1.0, sums) * perSum * times;
  instructions += std::max(1.0, sums) * times * warpsOfBlock * (steps * 2 + (isBlock ? 10 : 0));
}

/// One warp, alone.
double Estimator::waitingOfWarp() const {
  // The first wave waits for DRAM, later ones find in L2 what others have read.
  double first = 1 / std::max(1.0, waves),
         later = std::min(1.0, dramBytes / std::max(1.0, l2Sectors * sectorBytes * blocks));
  double missesL2 = std::min(1.0, first + (1 - first) * later);
  double memory = missesL2 * chip.dramLatencyCycles + (1 - missesL2) * chip.l2LatencyCycles;
  return (rounds - missedRounds) * chip.l1LatencyCycles + missedRounds * memory + waiting +
         instructions / warpsOfBlock * chip.aluLatencyCycles / instructionParallelism;
}

LaunchEstimate Estimator::combine() const {
  const double clock = chip.clockHz(), l2Bytes = l2Sectors * sectorBytes * blocks,
               activeSms = std::min(blocks, chip.smCount);
  auto onSm = [&](double amount, double perClock) {
    return amount * onBusiest / std::max(1.0, perClock);
  };
  const std::pair<const char *, double> resources[] = {
      {"dram", dramBytes / (sustainedDram * chip.dramBytesPerSecond) * clock},
      {"l2", std::max(l2Bytes / chip.l2BytesPerSecond * clock,
                      l2Bytes / (activeSms * l2BytesPerSmClock))},
      {"l1", onSm(lines, chip.lsuWavefrontsPerClock)},
      {"instructions", onSm(instructions, chip.schedulersPerSm)},
      {"special", onSm(special * lanesOfWarp, chip.sfuPerClock)},
      {"doubles", onSm(doubles * lanesOfWarp, chip.fp64PerClock)},
      {"atomics", atomics * blocks / std::max(1.0, chip.l2AtomicsPerClock)},
      {"blocks", blocks * blockStartCycles}};
  SmallVector<double> cycles;
  const auto *longest = std::begin(resources);
  for (const auto &each : resources) {
    cycles.push_back(each.second);
    longest = each.second > longest->second ? &each : longest;
  }
  double busy = joined(cycles), turns = turnsOfWaves(waves),
         latency = turns * waitingOfWarp() + blockTurnCycles * (turns - 1),
         warps = std::min(resident, onBusiest) * warpsOfBlock;
  return {turnOf(busy, latency, warps) / clock * 1e6 +
              chip.launchOverheadUs * double(placement.launches),
          latency > busy ? "waiting" : longest->first};
}

LaunchEstimate Estimator::run() {
  shapeLaunch();
  for (const AccessGroup &group : groupsOf(nest, work, placement, dims, sizes))
    addGroup(group);
  addStatements();
  addTeam();
  return combine();
}

} // namespace

std::optional<LaunchEstimate> kbopt::estimateLaunch(kb::NestOp nest, const Schedule &schedule,
                                                    const LaunchSizes &sizes,
                                                    const ChipInfo &chip) {
  if (schedule.sketch() == "contraction")
    return estimateContraction(nest, schedule, sizes, chip);
  auto dims = sizedDims(nest, sizes);
  auto placement = dims ? placementOf(nest, schedule, *dims) : std::nullopt;
  if (!placement || placement->threads() <= 0 || placement->block <= 0)
    return std::nullopt;
  return Estimator(nest, *placement, *dims, sizes, chip).run();
}
