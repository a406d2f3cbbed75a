//===- RowsSchedules.cpp - Which teams are worth trying ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of schedules of the sketch `rows` and its order. The figures behind it were
// measured on an H200: up to 1024 floats a row, a warp with the row in registers is best, with 8
// rows a block; above, a block with 8 to 32 floats a thread. Reading a row again costs up to twice
// the time.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "RowsNest.h"
#include "RowsOnline.h"
#include "Sketches.h"
#include <cmath>

using namespace kbopt;
using namespace mlir;

std::optional<int64_t> kbopt::valueAt(kb::ExprAttr expr, const LaunchSizes &sizes) {
  SmallVector<AffineExpr> dims, symbols;
  for (unsigned i = 0; i < expr.getMap().getNumDims(); ++i)
    dims.push_back(getAffineDimExpr(i, expr.getContext()));
  for (unsigned i = 0; i < expr.getMap().getNumSymbols(); ++i) {
    auto found = sizes.find(kb::symbolName(i, expr.getSymbols()));
    symbols.push_back(found == sizes.end()
                          ? getAffineSymbolExpr(i, expr.getContext())
                          : getAffineConstantExpr(found->second, expr.getContext()));
  }
  auto constant = dyn_cast<AffineConstantExpr>(expr.getExpr().replaceDimsAndSymbols(dims, symbols));
  return constant ? std::optional(constant.getValue()) : std::nullopt;
}

namespace {

struct Ranked {
  double cost = 0;
  Schedule schedule;
};

/// What the choice of a team depends on.
struct RowFacts {
  std::optional<int64_t> length, points; ///< of a row; rows
  int64_t vector = 1, streams = 0; ///< widest access in elements; registers kept for each iteration
  int64_t level = 1;
  bool hasSums = false;   ///< rows add to the same elements
  bool hasOnline = false; ///< a maximum, and a sum of exponentials relative to it
};

RowFacts factsOf(kb::NestOp nest, int64_t level, const LaunchSizes &sizes) {
  RowFacts facts;
  facts.level = level;
  CudaText text(nest);
  SmallVector<kb::OverOp> lanes = laneLoops(nest, level);
  RowCache cache = rowCacheOf(text, lanes);
  facts.hasOnline = !onlinePairsOf(lanes).empty();
  int64_t bytes = 16;
  for (kb::OverOp over : lanes) {
    if (kb::ExprAttr largest = largestExtent(nest, over.getExtent()))
      if (auto length = valueAt(largest, sizes))
        facts.length = std::max(facts.length.value_or(0), *length);
    if (!multipleConditions(nest, over.getExtent(), "", 2))
      continue;
    over.getBody().walk([&](Operation *op) {
      auto look = [&](kb::OperandAttr operand) {
        if (isVector(text, operand, over.getBody().front(), over.getName(), 2, nullptr))
          bytes = std::min(bytes, operand.getBytes());
      };
      for (kb::OperandAttr load : loadsOf(op))
        look(load);
      if (auto store = dyn_cast<kb::StoreOp>(op))
        look(store.getTarget());
    });
  }
  facts.vector = 16 / std::max<int64_t>(bytes, 2);
  while (facts.length && *facts.length % facts.vector != 0)
    facts.vector /= 2;
  facts.streams = wordsHeld(text, cache);
  if (size_t sums = cache.streams.empty() ? 0 : rowSumsOf(text, cache).size()) {
    facts.streams += sums;
    facts.hasSums = true;
  }
  facts.points = 1;
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>()) {
    auto size = valueAt(extent, sizes);
    facts.points = facts.points && size ? std::optional(*facts.points * *size) : std::nullopt;
  }
  return facts;
}

Schedule make(const RowFacts &facts, int64_t team, int64_t rows, int64_t vector, int64_t chunks,
              int64_t inflight, bool online = false) {
  Schedule schedule("rows");
  schedule.set("team", team)
      .set("rows", rows)
      .set("block", team * rows)
      .set("vector", vector)
      .set("level", facts.level);
  schedule.set("cache", chunks ? "registers" : "none")
      .set("chunks", chunks)
      .set("inflight", inflight);
  if (facts.hasOnline)
    schedule.set("online", online);
  // What a row of unknown length cannot do, a kernel for long rows does.
  return schedule.set("otherwise", !facts.length && (chunks || vector > 1));
}

/// How much longer rows take because too few of them are at work on a multiprocessor: a block waits
/// for its loads, for its other warps and for the next row, about 2.7 us in all, while others
/// should keep the memory busy.
double waitingOf(const RowFacts &facts, const ChipInfo &chip, int64_t team, int64_t held) {
  double length = facts.length.value_or(1024);
  double bytesPerNs = chip.dramBytesPerSecond / chip.smCount * 1e-9;
  double transfer = length * 4 * (std::max<int64_t>(facts.streams, 1) + 1) / bytesPerNs;
  int64_t blocks = residentBlocks(chip, team, held);
  return blocks ? std::max(1.0, (2700 + transfer) / (blocks * transfer)) : 4;
}

/// Estimated relative time: idle lanes, too few threads for the chip, loads in flight, rows read
/// again.
double costOf(const RowFacts &facts, const ChipInfo &chip, int64_t team, int64_t rows,
              int64_t vector, int64_t chunks, int64_t inflight) {
  double length = facts.length.value_or(1024), points = facts.points.value_or(8192);
  double turns = std::ceil(length / (team * vector));
  double cost = facts.hasSums && !facts.length ? 1 : turns * team * vector / length; // idle lanes
  double threads = points * team, slots = chip.smCount * chip.maxThreadsPerSm;
  if (threads < slots)
    cost *= 1 + 0.4 * std::log2(slots / threads);
  // nvcc unrolls a loop without a pragma by itself, by 16 where its loads are single elements. On
  // an H200, 89 pairs of schedules with single elements took 1.10 times as long with a pragma of 2
  // and 1.05 times with one of 4; 30 pairs with 16 bytes took the same.
  constexpr double unrolledByItself = 16;
  double together = inflight > 1 ? double(inflight) : unrolledByItself;
  double inFlight = (chunks ? chunks : std::min<double>(together, turns)) * vector;
  if (inFlight < 4)
    cost *= 1.25;
  if (inFlight < 8)
    cost *= 1.05;
  if (chunks * vector * facts.streams > 16)
    cost *= 1.02;
  if (chunks * vector * facts.streams > 32)
    cost *= 1.1 + chunks * vector * facts.streams / 256.0;
  // Elements that are read one by one: a row of 1024 took 52 us with 32 a thread, 34 us with 16 and
  // 28 us with 8.
  if (chunks > 8 && vector == 1 && facts.streams)
    cost *= 1 + 0.3 * std::log2(double(chunks) / 8);
  if (!chunks && facts.streams)
    cost *= 1.5;
  if (!chunks && length >= 2048)
    cost *= team <= 32 ? 1.15 : team == 512 && inflight == 2 ? 0.95 : 1;
  if (team > 32)
    cost *= (1.04 + 20.0 / length) *
            waitingOf(facts, chip, team, chunks * vector * facts.streams); // barriers
  if (team == 1024)
    cost *= 1.05;
  if (team * rows != 256)
    cost *= 1.01;
  if (vector == 1)
    cost *= 1.05;
  return cost;
}

void addLevel(std::vector<Ranked> &ranked, const RowFacts &facts, const ChipInfo &chip,
              double factor) {
  std::vector<int64_t> vectors = {facts.vector};
  if (facts.vector > 1)
    vectors.push_back(1);
  for (int64_t vector : vectors)
    for (int64_t team : {32, 256, 128, 512, 1024, 16, 8, 64})
      for (int64_t rows :
           team <= 32 ? std::vector<int64_t>{256 / team, 128 / team} : std::vector<int64_t>{1}) {
        // A thread adds up over the rows of its block; rows of unknown length are assumed to have
        // some thousand elements.
        if (facts.hasSums && (team <= 32 || (!facts.length && team != 256)))
          continue;
        if (team < 32 && facts.length && *facts.length > team * vector * 4)
          continue;
        auto add = [&](int64_t chunks, int64_t inflight) {
          double held = chunks * vector * std::max<int64_t>(facts.streams, 1);
          if (chunks > 64 || held + 14 > chip.registersPerThread ||
              (14 + held) * team * rows > chip.registersPerBlock)
            return;
          ranked.push_back({factor * costOf(facts, chip, team, rows, vector, chunks, inflight),
                            make(facts, team, rows, vector, chunks, inflight)});
        };
        if (facts.streams && facts.length)
          add((*facts.length + team * vector - 1) / (team * vector), 1);
        else if (facts.streams) {
          add(team <= 32      ? 32 / vector
              : facts.hasSums ? std::max<int64_t>(8 / vector, 1)
                              : 16 / vector,
              1);
          // Elements that are read one by one: fewer a thread are better, as long as a row of 1024
          // fits.
          if (vector == 1 && !facts.hasSums && team > 32 && team * 8 >= 1024)
            add(8, 1);
        }
        for (int64_t inflight : {1, 2, 4})
          if (facts.streams ? inflight != 2 && !facts.hasSums : true)
            add(0, inflight);
        // One reading of the row less.
        constexpr double online = 0.8;
        if (facts.hasOnline)
          ranked.push_back({factor * online * costOf(facts, chip, team, rows, vector, 0, 1),
                            make(facts, team, rows, vector, 0, 1, true)});
      }
}

/// Loads of the shared loops whose neighbours in a warp are neighbours in memory, as a share of
/// all.
double unitShare(kb::NestOp nest, int64_t level) {
  double unit = 0, all = 0;
  for (kb::OverOp over : laneLoops(nest, level))
    over.getBody().walk([&](Operation *op) {
      for (kb::OperandAttr load : loadsOf(op)) {
        auto stride = strideAlong(load.getOffset(), over.getName());
        all += 1;
        unit += stride && *stride >= 0 && *stride <= 1;
      }
    });
  return all ? unit / all : 1;
}

bool formsFloatSums(kb::NestOp nest, int64_t level) {
  bool found = false;
  for (kb::OverOp over : laneLoops(nest, level))
    for (kb::ReduceOp reduce : reductionsOf(over))
      if (reduce.getReduction() == "add" || reduce.getReduction() == "mul")
        found |= !isIntegerType(declarationOf(nest, reduce.getName()).getType());
  return found;
}

} // namespace

int64_t kbopt::residentBlocks(const ChipInfo &chip, int64_t team, int64_t held) {
  int64_t registers = llvm::alignTo(held + 28, 8);
  return std::min(int64_t(chip.registersPerSm) / (team * registers),
                  int64_t(chip.maxThreadsPerSm) / team);
}

/// After a team with short rows comes a block with rows of up to 5120 elements in registers, then
/// one with rows of any length, which are read again. The first kind is wide: 512 threads with 10
/// elements each took 98 us where 256 with 20 took 129 us (softmax of 8192 rows of 4099 on an
/// H200).
std::optional<Schedule> kbopt::rowsOtherwise(kb::NestOp nest, const ChipInfo &chip,
                                             const Schedule &schedule) {
  constexpr int64_t team = 512, held = 512, chunks = 10;
  RowFacts facts = factsOf(nest, schedule.integer("level", 1), {});
  bool isLong = schedule.integer("team") >= held && schedule.integer("vector") == 1;
  bool fits = residentBlocks(chip, held, chunks * facts.streams) >= 1;
  if (facts.streams && fits && !isLong)
    return make(facts, held, 1, 1, chunks, 1);
  if (isLong && schedule.string("cache") == "none")
    return std::nullopt;
  Schedule last = make(facts, team, 1, 1, 0, 8);
  return last.set("otherwise", int64_t(0));
}

std::vector<Schedule> kbopt::rowsSchedules(kb::NestOp nest, const ChipInfo &chip,
                                           const LaunchSizes &sizes, const Freedom &freedom) {
  std::vector<Ranked> ranked;
  SmallVector<kb::OverOp> outer = laneLoops(nest, 1);
  for (int64_t level : {1, 2}) {
    if ((level == 2 && laneLoops(nest, 2) == outer) || !whyNotRows(nest, level).empty())
      continue;
    if (!freedom.reassociate && formsFloatSums(nest, level))
      continue;
    addLevel(ranked, factsOf(nest, level, sizes), chip, 4 - 3 * unitShare(nest, level));
  }
  llvm::stable_sort(ranked, [](const Ranked &a, const Ranked &b) { return a.cost < b.cost; });
  std::vector<Schedule> best;
  for (Ranked &each : ranked)
    if (best.size() < 24)
      best.push_back(std::move(each.schedule));
  return best;
}
