//===- Scan.cpp - Prefix sums of rows -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `scan`: rows in which a value grows from element to element. A warp or a block
// takes a row, tile by tile, and each thread several neighbouring elements of a tile:
//
//   float s = 0.0f;
//   for (int tile = 0; tile < n; tile += lanes * width) {
//     const int first = tile + threadIdx.x * width;
//     float own = 0.0f;                       // 1. what the thread's elements have together
//     for (int e = 0; e < width; ++e)
//       own += x[first + e];
//     float upTo = s + before(own);           // 2. what the threads before it have
//     for (int e = 0; e < width; ++e) {       // 3. each element with what is before it
//       upTo += x[first + e];
//       y[first + e] = upTo;
//     }
//     s += own;                               // which `before` made that of the tile
//   }
//
// Blelloch, Prefix Sums and Their Applications, 1990; within a warp by shuffles as in Harris,
// Sengupta and Owens, Parallel Prefix Sum (Scan) with CUDA, GPU Gems 3, chapter 39.
//
//===----------------------------------------------------------------------===//
#include "ScanPrinter.h"
#include "Sketches.h"

using namespace kbopt;
using namespace mlir;

namespace {

class ScanSketch : public Sketch {
public:
  StringRef name() const override { return "scan"; }

  std::string whyNot(kb::NestOp nest) const override { return ScanNest(nest).whyNot(); }

  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &freedom) const override {
    ScanNest scan(nest);
    std::vector<Schedule> all;
    if (!scan.isExact() && !freedom.reassociate)
      return all;
    std::optional<int64_t> length = valueAt(scan.extent, sizes), count = 1;
    for (kb::ExprAttr extent : scan.rows.extents) {
      auto size = valueAt(extent, sizes);
      count = count && size ? std::optional(*count * *size) : std::nullopt;
    }
    auto constant = scan.extent.getConstant();
    std::optional<int64_t> known = constant ? constant : length;
    bool areShared = scan.rows.size() == 0 && !known; // a row for the grid
    auto add = [&](int64_t team, int64_t vector, int64_t rows, int64_t launches = 1) {
      if (scan.guard && vector > 1) // no vectors
        return;
      if (known && *known % vector && scan.rows.size() > 0)
        return;
      // A team with no element for half of its threads is too large.
      if (known && team > 32 && *known * 2 <= team * vector)
        return;
      Schedule schedule("scan");
      schedule.set("team", team).set("vector", vector).set("rows", rows).set("launches", launches);
      schedule.set("otherwise", launches > 1 || (vector > 1 && !known && scan.rows.size() > 0));
      if (!llvm::is_contained(all, schedule))
        all.push_back(schedule);
    };
    auto addGrid = [&] {
      if (ScanPrinter::whyNoLookBack(scan).empty())
        for (auto [team, vector] : {std::pair(512, 8), {256, 16}, {512, 16}})
          add(team, vector, 1, 2); // small tiles wait for each other most of their time
      if (scan.whyNoSlot().empty())
        for (auto [team, vector] : {std::pair(512, 8), {256, 8}, {512, 4}, {512, 1}})
          add(team, vector, 1, 3);
    };
    bool areMany = count && *count >= int64_t(chip.smCount) * 64;
    bool areFew = count && *count < int64_t(chip.smCount);
    bool isLong = known && *known >= 32768;
    if (areShared || (areFew && isLong))
      addGrid();
    if (areFew)
      for (int64_t vector : {4, 1})
        add(1024, vector, 1);
    if (areMany || (known && *known <= 128))
      for (int64_t vector : {4, 1})
        add(32, vector, 8);
    if (known && *known <= 2048) // one tile
      for (int64_t vector : {4, 1})
        add(std::clamp<int64_t>(llvm::PowerOf2Ceil(*known / vector), 64, 256), vector, 1);
    for (int64_t vector : {4, 2, 1})
      for (int64_t team : {256, 128, 512})
        add(team, vector, 1);
    for (int64_t vector : {4, 1})
      add(32, vector, 8);
    add(256, 8, 1);
    add(1024, 4, 1);
    addGrid();
    return all;
  }

  /// A team for a row where the grid is too much for it; single elements where rows do not divide.
  std::optional<Schedule> otherwise(kb::NestOp nest, const ChipInfo &,
                                    const Schedule &schedule) const override {
    Schedule next = schedule;
    if (schedule.integer("launches", 1) > 1)
      return next.set("launches", int64_t(1))
          .set("team", int64_t(1024))
          .set("vector", std::min<int64_t>(schedule.integer("vector"), 4))
          .set("otherwise", int64_t(ScanNest(nest).rows.size() > 0));
    if (schedule.integer("vector", 1) == 1 || !ScanNest(nest).rows.size())
      return std::nullopt;
    return next.set("vector", int64_t(1)).set("otherwise", int64_t(0));
  }

  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &) const override {
    return ScanPrinter(nest, name).run();
  }
};

} // namespace

const Sketch &kbopt::scanSketch() {
  static const ScanSketch sketch;
  return sketch;
}
