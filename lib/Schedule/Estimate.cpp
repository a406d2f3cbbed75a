//===- Estimate.cpp - What a schedule should take ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the model: the accesses of one block, at the addresses that they have, give sectors, lines
// and what L1 keeps; the rest of the launch is that block many times. Constants without a source
// here are those of Eval/LaunchModel.cpp (docs/CostModel.md).
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Schedule/Estimate.h"
#include "ContractionRanking.h"
#include "NestWork.h"
#include "kb-opt/Target/Occupancy.h"
#include "llvm/ADT/DenseSet.h"
#include <cmath>

using namespace kbopt;
using namespace mlir;

namespace {

constexpr double sustainedDram = 0.9, l2BytesPerSmClock = 64, barrierCycles = 13,
                 barrierWarpCycles = 2, defaultUnrolling = 16, wordsInFlight = 16,
                 blockTurnCycles = 357, blockStartCycles = 1.19, divisionInstructions = 20;
constexpr int64_t lanesOfWarp = 32, sectorBytes = 32, lineBytes = 128;
/// Of one block so many addresses are evaluated for each group of accesses; the rest is in
/// proportion.
constexpr int64_t mostAddresses = 1 << 15;

/// Accesses of one array in one loop body.
struct Group {
  std::vector<const WorkAccess *> members;
  std::vector<PointOffset> offsets;
  bool isStore = false;
};

/// What a block does for memory.
struct BlockTraffic {
  double requests = 0, lines = 0, sectors = 0; ///< of all warps
  double misses = 0;                           ///< sectors that go to L2
};

class Estimator {
public:
  Estimator(kb::NestOp nest, const Placement &placement, ArrayRef<SizedDim> dims,
            const LaunchSizes &sizes, const ChipInfo &chip)
      : nest(nest), placement(placement), dims(dims), sizes(sizes), chip(chip), work(nest, dims),
        points(nest.getDims().size()), dealt(&placement) {}

  std::optional<LaunchEstimate> run();

private:
  kb::NestOp nest;
  const Placement &placement;
  ArrayRef<SizedDim> dims;
  const LaunchSizes &sizes;
  const ChipInfo &chip;
  NestWork work;

  size_t points; ///< dimensions of the nest; loops follow
  double blocks = 1, warpsOfBlock = 1, resident = 1, onBusiest = 1, activeSms = 1, waves = 1;
  const Placement *dealt;                     ///< the placement, or that of its stores
  std::vector<std::vector<int64_t>> ofThread; ///< by thread of the sampled block

  /// Bytes of an array that DRAM has moved, loaded or stored.
  std::map<std::pair<const void *, bool>, double> ofArray;
  /// Sums over the block, or per warp.
  double lines = 0, sharedLines = 0, l2Sectors = 0, instructions = 0, special = 0, doubles = 0,
         rounds = 0, missedRounds = 0, waiting = 0, dramBytes = 0, atomics = 0;

  bool isVector(unsigned dim) const {
    return dealt->vector > 1 && llvm::is_contained(dealt->vectorDims, dims[dim].name);
  }
  bool isDealt(unsigned dim) const {
    return llvm::any_of(dealt->digits, [&](const ThreadDigit &digit) {
      return llvm::is_contained(digit.dims, dims[dim].name);
    });
  }
  bool isPoint(unsigned dim) const { return dim < points; }
  /// What one thread runs of \p dim.
  Turns turnsOf(unsigned dim) const {
    auto found = dealt->turns.find(dims[dim].name);
    if (found != dealt->turns.end())
      return found->second;
    return isDealt(dim) ? Turns() : Turns{dims[dim].extent, 1};
  }
  double iterations(ArrayRef<unsigned> around) const {
    double all = 1;
    for (unsigned dim : around)
      all *= double(turnsOf(dim).count);
    return all;
  }
  void shapeLaunch();
  void placeThreads();
  std::vector<Group> groups() const;
  void addGroup(const Group &group);
  double footprint(const Group &group) const;
  void addStatements();
  void addTeam();
  double heldRegisters() const;
  LaunchEstimate combine() const;
};

double Estimator::heldRegisters() const {
  double held = 28;
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
  activeSms = std::min(blocks, chip.smCount);
  waves = blocks / (resident * chip.smCount);
}

void Estimator::placeThreads() {
  ofThread.clear();
  int64_t all = dealt->threads(), first = int64_t(blocks / 2) * dealt->block;
  if (first >= all)
    first = 0;
  for (int64_t thread = first; thread < std::min(all, first + dealt->block); ++thread) {
    std::vector<int64_t> &values = ofThread.emplace_back(dims.size(), 0);
    int64_t rest = thread;
    for (const ThreadDigit &digit : dealt->digits) {
      for (unsigned dim = 0; dim < dims.size(); ++dim)
        if (llvm::is_contained(digit.dims, dims[dim].name))
          values[dim] += rest % digit.count * digit.step;
      rest /= digit.count;
    }
  }
}

std::vector<Group> Estimator::groups() const {
  std::vector<Group> result;
  std::set<std::tuple<const void *, const void *, bool>> kept; // elements of a row, loop renamed
  for (const WorkAccess &access : work.accesses) {
    kb::ExprAttr offset = access.operand.getOffset();
    if (placement.keepsRows && !access.isStore) {
      SmallVector<AffineExpr> renamed;
      MLIRContext *context = offset.getContext();
      for (unsigned i = 0; i < kb::firstLoopDim; ++i)
        renamed.push_back(getAffineDimExpr(i, context));
      for (auto [index, loop] : llvm::enumerate(offset.getLoops()))
        renamed.push_back(getAffineDimExpr(llvm::is_contained(placement.vectorDims, loop.getValue())
                                               ? 0
                                               : kb::firstLoopDim + index,
                                           context));
      AffineExpr element = offset.getExpr().replaceDims(renamed);
      if (!kept.insert({access.operand.getBase().getAsOpaquePointer(), element.getAsOpaquePointer(),
                        false})
               .second)
        continue;
    }
    auto found = llvm::find_if(result, [&](const Group &group) {
      return group.isStore == access.isStore &&
             group.members.front()->operand.getBase() == access.operand.getBase() &&
             group.members.front()->dims == access.dims;
    });
    if (found == result.end())
      found = result.insert(result.end(), Group());
    found->isStore = access.isStore;
    found->members.push_back(&access);
    found->offsets.emplace_back(nest, offset, dims, sizes);
  }
  return result;
}

/// Distinct bytes of the whole launch.
double Estimator::footprint(const Group &group) const {
  double low = 0, high = 0, most = 0;
  std::vector<int64_t> point(dims.size(), 0);
  for (const PointOffset &offset : group.offsets) {
    double product = 1, from = double(offset.at(point)), below = from, above = from;
    for (unsigned dim = 0; dim < dims.size(); ++dim) {
      if (!offset.dependsOn(dim) || !llvm::is_contained(group.members.front()->dims, dim))
        continue;
      product *= double(dims[dim].extent);
      point[dim] = dims[dim].extent - 1;
      double gain = double(offset.at(point)) - from;
      point[dim] = 0;
      (gain < 0 ? below : above) += gain;
    }
    most += product;
    low = &offset == &group.offsets.front() ? below : std::min(low, below);
    high = &offset == &group.offsets.front() ? above : std::max(high, above);
    if (offset.isNamedByData())
      high = low + product * double(group.offsets.size());
  }
  return std::min(most, high - low + 1) * double(group.members.front()->operand.getBytes());
}

void Estimator::addGroup(const Group &group) {
  if (placement.stores) {
    dealt = group.isStore ? placement.stores.get() : &placement;
    placeThreads();
  }
  const WorkAccess &access = *group.members.front();
  const int64_t bytes = access.operand.getBytes();
  // Loops that no offset depends on and that stand innermost run without the access; so do points
  // of one thread that share it.
  struct Serial {
    unsigned dim;
    Turns turns;
  };
  SmallVector<Serial> serial;
  auto uses = [&](unsigned dim) {
    return llvm::any_of(group.offsets, [&](const PointOffset &o) { return o.dependsOn(dim); });
  };
  for (unsigned dim : access.dims) {
    Turns turns = turnsOf(dim);
    if (turns.count > 1 && (uses(dim) || !isPoint(dim)))
      serial.push_back({dim, turns});
  }
  while (!serial.empty() && !uses(serial.back().dim))
    serial.pop_back();
  double iterationsOfThread = 1;
  for (const Serial &each : serial)
    iterationsOfThread *= double(each.turns.count);
  unsigned vectorDim = dims.size();
  for (unsigned dim : access.dims)
    if (isVector(dim) && uses(dim))
      vectorDim = dim;
  bool isShared = false; // the block loads it once into shared memory
  for (unsigned dim : access.dims)
    isShared |= llvm::is_contained(placement.shared, dims[dim].name);
  for (unsigned dim : access.dims)
    isShared &= !(uses(dim) && llvm::is_contained(placement.sharing, dims[dim].name));

  for (const PointOffset &offset : group.offsets) // once for each value of what it divides
    instructions += divisionInstructions * offset.divisions() * warpsOfBlock;

  const int64_t warps = int64_t(llvm::divideCeil(ofThread.size(), size_t(lanesOfWarp)));
  const int64_t perIteration = warps * lanesOfWarp * int64_t(group.members.size()) *
                               (vectorDim < dims.size() ? dealt->vector : 1);
  const int64_t sampled = std::max<int64_t>(
      1, int64_t(std::min<double>(iterationsOfThread, double(mostAddresses / perIteration))));
  const double capacity =
      std::max(16384.0, chip.l1BytesPerSm - double(placement.sharedBytes) * resident) / resident;
  BlockTraffic traffic;
  llvm::DenseSet<int64_t> held, all;
  SmallVector<int64_t> lanes, sectors;
  std::vector<int64_t> point;
  std::vector<llvm::DenseSet<int64_t>> loaded(warps); // by the first lane: what a thread has
  for (int64_t turn = 0; turn < sampled; ++turn) {
    if (double(held.size()) * sectorBytes > capacity)
      held.clear();
    for (int64_t warp = 0; warp < warps; ++warp)
      for (const PointOffset &offset : group.offsets) {
        auto request = [&](int64_t element, int64_t width) {
          sectors.clear();
          for (int64_t lane = warp * lanesOfWarp;
               lane < std::min<int64_t>((warp + 1) * lanesOfWarp, int64_t(ofThread.size()));
               ++lane) {
            point = ofThread[lane];
            int64_t rest = turn;
            for (const Serial &each : llvm::reverse(serial)) {
              point[each.dim] += rest % each.turns.count * each.turns.step;
              rest /= each.turns.count;
            }
            if (vectorDim < dims.size())
              point[vectorDim] += element;
            int64_t address = offset.at(point) * bytes;
            if (placement.loadsOnce && !group.isStore && lane == warp * lanesOfWarp &&
                !loaded[warp].insert(address).second)
              return;
            for (int64_t at = address; at < address + width * bytes; at += sectorBytes)
              sectors.push_back(at / sectorBytes);
            sectors.push_back((address + width * bytes - 1) / sectorBytes);
          }
          llvm::sort(sectors);
          sectors.erase(llvm::unique(sectors), sectors.end());
          traffic.requests += 1;
          traffic.sectors += double(sectors.size());
          int64_t line = -1;
          for (int64_t sector : sectors) {
            if (sector * sectorBytes / lineBytes != line)
              traffic.lines += 1;
            line = sector * sectorBytes / lineBytes;
            if (group.isStore || held.insert(sector).second)
              traffic.misses += 1;
          }
          for (int64_t sector : sectors)
            all.insert(sector);
        };
        if (vectorDim == dims.size()) {
          request(0, 1);
          continue;
        }
        point = ofThread.front();
        int64_t from = offset.at(point);
        point[vectorDim] += 1;
        int64_t stride = offset.at(point) - from;
        if (stride == 1)
          request(0, dealt->vector);
        else
          for (int64_t element = 0; element < (stride ? dealt->vector : 1); ++element)
            request(element, 1);
      }
  }
  double scale = iterationsOfThread / double(sampled);
  if (!group.isStore)
    scale *= double(placement.reads);
  if (isShared) {
    // Each element once for the block, then a broadcast from shared memory for each warp.
    double elements = scale * double(sampled) * double(group.members.size());
    l2Sectors += elements * double(bytes) / sectorBytes;
    sharedLines += traffic.requests * scale;
    instructions += traffic.requests * scale;
    // Its tiles come one after the other, between two barriers.
    double tiles = std::ceil(iterationsOfThread / double(std::max<int64_t>(1, placement.tile)));
    waiting +=
        tiles * (chip.dramLatencyCycles + 2 * (barrierCycles + barrierWarpCycles * warpsOfBlock));
  } else {
    lines += traffic.lines * scale * (group.isStore ? 2 : 1);
    // Sectors of which a request writes a part cost L2 two of its turns.
    double written = double(bytes) * lanesOfWarp * traffic.requests *
                     (vectorDim < dims.size() ? double(dealt->vector) : 1);
    bool isPartial = group.isStore && written < traffic.sectors * sectorBytes * 0.9;
    l2Sectors += traffic.misses * scale * (isPartial ? 2 : 1);
    instructions += traffic.requests * scale * 2;
  }
  for (const WorkAccess *member : group.members)
    atomics += member->isAtomic ? traffic.sectors * scale / double(group.members.size()) : 0;
  double distinct = footprint(group);
  double atOnce = double(all.size()) * sectorBytes * scale * resident * chip.smCount;
  bool fits = std::min(atOnce, distinct) < chip.l2Bytes * 0.8;
  double moved =
      fits ? distinct : std::max(distinct, traffic.misses * scale * sectorBytes * blocks);
  // Several loops over one array read it from DRAM once, as far as it stays in L2.
  double &before =
      ofArray[{group.members.front()->operand.getBase().getAsOpaquePointer(), group.isStore}];
  dramBytes += fits ? std::max(0.0, moved - before) : moved;
  before = std::max(before, moved);
  if (group.isStore || isShared)
    return;
  // A warp waits for the loads of so many iterations together.
  double perWarp = traffic.requests * scale / double(warps);
  bool isInner = !serial.empty() && !isPoint(serial.back().dim);
  double words =
      std::max(1.0, double(bytes) / 4) * (vectorDim < dims.size() ? double(dealt->vector) : 1);
  double together = double(group.members.size());
  if (placement.inflight > 0 && !serial.empty())
    together *= double(std::min<int64_t>(placement.inflight, serial.back().turns.count));
  else if (isInner)
    together *= std::clamp(wordsInFlight / (words * together), 1.0,
                           std::min(defaultUnrolling, double(serial.back().turns.count)));
  double missShare = traffic.sectors > 0 ? traffic.misses / traffic.sectors : 0;
  double inRounds = perWarp / std::max(1.0, together);
  rounds += inRounds;
  missedRounds += inRounds * std::min(1.0, missShare * together);
}

void Estimator::addStatements() {
  for (const WorkStatement &statement : work.statements) {
    double count = iterations(statement.dims) * warpsOfBlock;
    for (unsigned dim : statement.dims)
      count *= isVector(dim) ? double(placement.vector) : 1;
    instructions += count * statement.instructions;
    special += count * statement.special;
    doubles += count * statement.doubles;
  }
  if (placement.isNumbered)
    instructions += double(points - 1) * divisionInstructions * warpsOfBlock;
  constexpr double loopTest = 1; // of three instructions, unrolled
  for (const DimNumbers &loop : work.loops)
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
  double barrier = barrierCycles + barrierWarpCycles * warpsOfBlock;
  if (isBlock)
    perSum += 2 * barrier + 2 * chip.sharedLatencyCycles;
  double times = 1;
  if (findSketch("scan")->whyNot(nest).empty() && !placement.turns.empty() && sums == 0) {
    sums = 1;
    times = double(placement.turns.begin()->second.count);
  }
  waiting += std::max(1.0, sums) * perSum * times;
  instructions += std::max(1.0, sums) * times * warpsOfBlock * (steps * 2 + (isBlock ? 10 : 0));
}

LaunchEstimate Estimator::combine() const {
  double clock = chip.clockHz();
  double warpsPerSm = std::max(1.0, std::min(resident, onBusiest) * warpsOfBlock);
  double l2Bytes = l2Sectors * sectorBytes * blocks;
  struct Resource {
    const char *name;
    double cycles;
  };
  double dram = dramBytes / (sustainedDram * chip.dramBytesPerSecond) * clock;
  double l2 =
      std::max(l2Bytes / chip.l2BytesPerSecond * clock, l2Bytes / (activeSms * l2BytesPerSmClock));
  const Resource resources[] = {
      {"dram", dram},
      {"l2", l2},
      {"l1", (lines + sharedLines) * onBusiest / chip.lsuWavefrontsPerClock},
      {"instructions", instructions * onBusiest / chip.schedulersPerSm},
      {"special", special * lanesOfWarp * onBusiest / std::max(1.0, chip.sfuPerClock)},
      {"doubles", doubles * lanesOfWarp * onBusiest / std::max(1.0, chip.fp64PerClock)},
      {"atomics", atomics * blocks / std::max(1.0, chip.l2AtomicsPerClock)},
      {"blocks", blocks * blockStartCycles}};
  double norm = 0, most = 0;
  const char *limiter = "dram";
  for (const Resource &each : resources) {
    norm += std::pow(each.cycles, 8);
    if (each.cycles > most)
      most = each.cycles, limiter = each.name;
  }
  double busy = std::pow(norm, 1.0 / 8);
  // Waiting of one warp, one block after the other.
  double firstWave = 1 / std::max(1.0, waves),
         later = std::min(1.0, dramBytes / std::max(1.0, l2Bytes));
  double missesL2 = std::min(1.0, firstWave + (1 - firstWave) * later);
  double memory = missesL2 * chip.dramLatencyCycles + (1 - missesL2) * chip.l2LatencyCycles;
  double perWarp = (rounds - missedRounds) * chip.l1LatencyCycles + missedRounds * memory +
                   waiting + instructions / warpsOfBlock * chip.aluLatencyCycles / 2;
  double turns = std::max(1.0, waves < 8 ? std::ceil(waves) : waves + 0.5);
  double latency = turns * perWarp + blockTurnCycles * (turns - 1);
  double order = std::log(2) / std::log1p(0.8 / std::sqrt(warpsPerSm));
  double longest = std::max(busy, latency);
  double cycles =
      longest *
      std::pow(std::pow(busy / longest, order) + std::pow(latency / longest, order), 1 / order);
  return {cycles / clock * 1e6 + chip.launchOverheadUs * double(placement.launches),
          latency > busy ? "waiting" : limiter};
}

std::optional<LaunchEstimate> Estimator::run() {
  if (placement.threads() <= 0 || placement.block <= 0)
    return std::nullopt;
  shapeLaunch();
  placeThreads();
  for (const Group &group : groups())
    addGroup(group);
  dealt = &placement;
  addStatements();
  addTeam();
  return combine();
}

/// A contraction: the share of the chip's rate that its tile reaches.
std::optional<LaunchEstimate> estimateContraction(kb::NestOp nest, const Schedule &schedule,
                                                  const LaunchSizes &sizes, const ChipInfo &chip) {
  ContractionShape shape(schedule);
  Contraction contraction;
  if (!findContraction(nest, shape.core, contraction).empty())
    return std::nullopt;
  double terms = 1, outputs = 1;
  for (const NestDim &dim : contraction.depth) {
    auto extent = valueOf(dim.extent, sizes);
    if (!extent)
      return std::nullopt;
    terms *= double(std::max<int64_t>(1, *extent));
  }
  std::vector<NestDim> sides{contraction.row, contraction.column};
  llvm::append_range(sides, contraction.batch);
  for (const NestDim &dim : sides) {
    auto extent = valueOf(dim.extent, sizes);
    if (!extent)
      return std::nullopt;
    outputs *= double(std::max<int64_t>(1, *extent));
  }
  for (const RankedShape &each :
       rankShapes(contraction, chip, sizes, Freedom{true, true}, usualSides)) {
    Schedule other = each.shape.schedule();
    bool isSame = llvm::all_of(other.all(), [&](const auto &entry) {
      return schedule.string(entry.first) == entry.second;
    });
    if (!isSame || each.rate <= 0)
      continue;
    double perClock = chip.fp32PerClock * chip.smCount;
    double cycles = outputs * terms / (each.rate * perClock);
    return LaunchEstimate{cycles / chip.clockHz() * 1e6 + chip.launchOverheadUs, "multiplications"};
  }
  return std::nullopt;
}

} // namespace

std::optional<LaunchEstimate> kbopt::estimateLaunch(kb::NestOp nest, const Schedule &schedule,
                                                    const LaunchSizes &sizes,
                                                    const ChipInfo &chip) {
  if (schedule.sketch() == "contraction")
    return estimateContraction(nest, schedule, sizes, chip);
  auto dims = sizedDims(nest, sizes);
  if (!dims)
    return std::nullopt;
  auto placement = placementOf(nest, schedule, *dims);
  return placement ? Estimator(nest, *placement, *dims, sizes, chip).run() : std::nullopt;
}
