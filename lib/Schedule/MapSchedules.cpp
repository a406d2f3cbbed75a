//===- MapSchedules.cpp - Which maps are worth trying ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of schedules of the sketch `map` and its order.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "InnerLoops.h"
#include "MapNest.h"

using namespace kbopt;
using namespace mlir;

/// The widest access of a lane, in elements.
static int64_t widestVector(kb::NestOp nest, const MapNest &map, StringRef dim,
                            const LaunchSizes &sizes) {
  if (map.hasInnerLoops() || nest.getDomain())
    return 1;
  CudaText text(nest);
  int64_t bytes = 16;
  for (Operation &op : *map.body) {
    SmallVector<kb::OperandAttr> accesses = loadsOf(&op);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      accesses.push_back(store.getTarget());
    for (kb::OperandAttr each : accesses)
      if (isVector(text, each, *map.body, dim, 2, nullptr))
        bytes = std::min(bytes, each.getBytes());
  }
  int64_t vector = 16 / bytes;
  auto extent = valueAt(map.extent(dim), sizes);
  while (map.box.size() > 1 && extent && *extent % vector != 0)
    vector /= 2;
  return vector;
}

std::vector<Schedule> kbopt::mapSchedules(kb::NestOp nest, const ChipInfo &chip,
                                          const LaunchSizes &sizes) {
  std::vector<Schedule> all;
  MapNest map = mapNestOf(nest, "");
  bool hasAxes = map.box.size() == 2 || map.box.size() == 3;
  auto add = [&](StringRef lanes, int64_t block, int64_t vector, int64_t inflight,
                 int64_t rows = 0) {
    Schedule schedule("map");
    schedule.set("lanes", lanes)
        .set("block", block)
        .set("vector", vector)
        .set("inflight", inflight)
        .set("rows", rows);
    bool adds = map.addsNeighbours(lanes);
    if (adds)
      schedule.set("adds", "single");
    if (llvm::is_contained(all, schedule))
      return;
    all.push_back(schedule);
    if (adds && (vector == 2 || vector == 4) && chip.computeMajor >= 9)
      all.push_back(schedule.set("adds", "vector"));
  };
  SmallVector<StringRef> dims = map.laneDims();
  StringRef best = dims.front();
  int64_t vector = widestVector(nest, map, best, sizes);
  if (map.hasInnerLoops()) {
    // Few points with much to do each: smaller blocks reach more multiprocessors.
    auto points = map.points(sizes);
    if (points && *points < int64_t(256 * chip.smCount) && !hasAxes)
      for (int64_t block : {64, 32})
        add(best, block, 1, 1);
    // Rows of a thread are read several elements at a time, and several times at once.
    if (int64_t inner = innerVector(nest, *map.body, best, sizes); inner > 1)
      for (int64_t inflight : {4, 1})
        add(best, 256, inner, inflight, hasAxes ? 8 : 0);
    for (StringRef dim : ArrayRef(dims).take_front(2))
      for (int64_t block : {256, 128})
        add(dim, block, 1, 1, hasAxes ? block / 32 : 0);
    return all;
  }
  if (hasAxes) {
    add(best, 256, vector, 1, 8);
    // What lanes read far apart lies beside what the rows of the block read: square blocks use
    // whole lines.
    if (map.hasFarAccesses(best)) {
      add(best, 1024, 1, 1, 32);
      add(best, 256, 1, 1, 16);
    }
    add(best, 256, vector, 1, 4);
    add(best, 256, vector, 1, 1);
  }
  add(best, 256, vector, 1);
  add(best, 256, 1, 4);
  if (vector > 2)
    add(best, 256, vector / 2, 2);
  add(best, 256, vector, 2);
  add(best, 512, vector, 1);
  add(best, 128, vector, 1);
  add(best, 256, 1, 1);
  if (dims.size() > 1)
    add(dims[1], 256, 1, 1);
  return all;
}
