//===- BlockSampler.cpp - What one block does for memory --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BlockSampler.h"

using namespace kbopt;
using namespace mlir;

/// Of one block so many addresses are evaluated for each group of accesses; the rest is in
/// proportion.
static constexpr int64_t mostAddresses = 1 << 15;

double AccessGroup::footprint(ArrayRef<SizedDim> dims) const {
  double low = 0, high = 0, most = 0;
  std::vector<int64_t> point(dims.size(), 0);
  for (const PointOffset &offset : offsets) {
    double product = 1, from = double(offset.at(point)), below = from, above = from;
    for (unsigned dim : first().dims) {
      if (!offset.dependsOn(dim))
        continue;
      product *= double(dims[dim].extent);
      point[dim] = dims[dim].extent - 1;
      double gain = double(offset.at(point)) - from;
      point[dim] = 0;
      (gain < 0 ? below : above) += gain;
    }
    most += product;
    low = &offset == &offsets.front() ? below : std::min(low, below);
    high = &offset == &offsets.front() ? above : std::max(high, above);
    if (offset.isNamedByData())
      high = low + product * double(offsets.size());
  }
  return std::min(most, high - low + 1) * double(bytes());
}

/// \p offset with one name for all loops that a team shares: equal for the same element of a row.
static AffineExpr elementOfRow(kb::ExprAttr offset, const Placement &placement) {
  SmallVector<AffineExpr> renamed;
  MLIRContext *context = offset.getContext();
  for (unsigned i = 0; i < kb::firstLoopDim; ++i)
    renamed.push_back(getAffineDimExpr(i, context));
  for (auto [index, loop] : llvm::enumerate(offset.getLoops())) {
    bool isShared = llvm::is_contained(placement.vectorDims, loop.getValue());
    renamed.push_back(getAffineDimExpr(isShared ? 0 : kb::firstLoopDim + index, context));
  }
  return offset.getExpr().replaceDims(renamed);
}

std::vector<AccessGroup> kbopt::groupsOf(kb::NestOp nest, const NestWork &work,
                                         const Placement &placement, ArrayRef<SizedDim> dims,
                                         const LaunchSizes &sizes) {
  std::vector<AccessGroup> groups;
  std::set<std::pair<const void *, const void *>> kept; // arrays and elements of a row
  for (const WorkAccess &access : work.accesses) {
    kb::ExprAttr offset = access.operand.getOffset();
    const void *base = access.operand.getBase().getAsOpaquePointer();
    const bool isOnline = llvm::any_of(access.dims, [&](unsigned dim) {
      return llvm::is_contained(placement.online, dims[dim].name);
    });
    if ((placement.keepsRows || isOnline) && !access.isStore &&
        !kept.insert({base, elementOfRow(offset, placement).getAsOpaquePointer()}).second)
      continue;
    auto found = llvm::find_if(groups, [&](const AccessGroup &group) {
      return group.isStore == access.isStore &&
             group.first().operand.getBase() == access.operand.getBase() &&
             group.first().dims == access.dims;
    });
    if (found == groups.end())
      found = groups.insert(groups.end(), AccessGroup());
    found->isStore = access.isStore;
    found->members.push_back(&access);
    found->offsets.emplace_back(nest, offset, dims, sizes);
  }
  return groups;
}

BlockSampler::BlockSampler(const Placement &placement, ArrayRef<SizedDim> dims, size_t points)
    : placement(placement), dims(dims), points(points) {
  int64_t all = placement.threads(), blocks = all / placement.block,
          first = blocks / 2 * placement.block;
  for (int64_t thread = first; thread < std::min(all, first + placement.block); ++thread) {
    std::vector<int64_t> &values = ofThread.emplace_back(dims.size(), 0);
    int64_t rest = thread;
    for (const ThreadDigit &digit : placement.digits) {
      for (unsigned dim = 0; dim < dims.size(); ++dim)
        if (llvm::is_contained(digit.dims, dims[dim].name))
          values[dim] += rest % digit.count * digit.step;
      rest /= digit.count;
    }
  }
}

int64_t BlockSampler::warps() const {
  return int64_t(llvm::divideCeil(ofThread.size(), size_t(lanesOfWarp)));
}

Turns BlockSampler::turnsOf(unsigned dim) const {
  auto found = placement.turns.find(dims[dim].name);
  if (found != placement.turns.end())
    return found->second;
  bool isDealt = llvm::any_of(placement.digits, [&](const ThreadDigit &digit) {
    return llvm::is_contained(digit.dims, dims[dim].name);
  });
  return isDealt ? Turns() : Turns{dims[dim].extent, 1};
}

bool BlockSampler::isVector(unsigned dim) const {
  return placement.vector > 1 && llvm::is_contained(placement.vectorDims, dims[dim].name);
}

/// Loops that no offset depends on and that stand innermost run without the access; so do points of
/// one thread that share it.
SmallVector<BlockSampler::Serial> BlockSampler::serialLoops(const AccessGroup &group) const {
  SmallVector<Serial> serial;
  for (unsigned dim : group.first().dims) {
    Turns turns = turnsOf(dim);
    if (turns.count > 1 && (group.uses(dim) || dim >= points))
      serial.push_back({dim, turns});
  }
  while (!serial.empty() && !group.uses(serial.back().dim))
    serial.pop_back();
  return serial;
}

std::vector<int64_t> BlockSampler::pointOf(int64_t thread, ArrayRef<Serial> serial,
                                           int64_t turn) const {
  std::vector<int64_t> point = ofThread[thread];
  for (const Serial &each : llvm::reverse(serial)) {
    point[each.dim] += turn % each.turns.count * each.turns.step;
    turn /= each.turns.count;
  }
  return point;
}

BlockSampler::Sectors BlockSampler::sectorsOf(const PointOffset &offset, int64_t bytes,
                                              int64_t warp, ArrayRef<Serial> serial, int64_t turn,
                                              unsigned vectorDim, int64_t element,
                                              int64_t width) const {
  Sectors sectors;
  int64_t end = std::min<int64_t>((warp + 1) * lanesOfWarp, int64_t(ofThread.size()));
  for (int64_t lane = warp * lanesOfWarp; lane < end; ++lane) {
    std::vector<int64_t> point = pointOf(lane, serial, turn);
    if (element)
      point[vectorDim] += element;
    int64_t from = offset.at(point) * bytes, last = from + width * bytes - 1;
    for (int64_t at = from; at <= last; at += sectorBytes)
      sectors.push_back(at / sectorBytes);
    sectors.push_back(last / sectorBytes);
  }
  llvm::sort(sectors);
  sectors.erase(llvm::unique(sectors), sectors.end());
  return sectors;
}

BlockTraffic BlockSampler::sample(const AccessGroup &group, double capacity) const {
  const SmallVector<Serial> serial = serialLoops(group);
  BlockTraffic traffic;
  for (const Serial &each : serial)
    traffic.iterations *= double(each.turns.count);
  if (!serial.empty()) {
    traffic.innermostTurns = serial.back().turns.count;
    traffic.isInLoop = serial.back().dim >= points;
  }
  unsigned vectorDim = dims.size(); // none
  for (unsigned dim : group.first().dims)
    if (isVector(dim) && group.uses(dim))
      vectorDim = dim;
  const int64_t vector = vectorDim < dims.size() ? placement.vector : 1;
  traffic.elements = double(vector);

  const int64_t ofTurn = warps() * lanesOfWarp * int64_t(group.offsets.size()) * vector;
  const int64_t turns = std::max<int64_t>(
      1, int64_t(std::min<double>(traffic.iterations, double(mostAddresses / ofTurn))));
  llvm::DenseSet<int64_t> held, touched;
  auto request = [&](ArrayRef<int64_t> sectors) {
    traffic.requests += 1;
    traffic.sectors += double(sectors.size());
    int64_t line = -1;
    for (int64_t sector : sectors) {
      traffic.lines += sector * sectorBytes / lineBytes != line;
      line = sector * sectorBytes / lineBytes;
      traffic.misses += group.isStore || held.insert(sector).second;
      touched.insert(sector);
    }
  };
  // What a thread loaded before, by the element of the warp's first lane.
  std::vector<llvm::DenseSet<int64_t>> loaded(warps());
  auto isLoaded = [&](const PointOffset &offset, int64_t warp, int64_t turn) {
    return placement.loadsOnce && !group.isStore &&
           !loaded[warp].insert(offset.at(pointOf(warp * lanesOfWarp, serial, turn))).second;
  };
  // By offset: how far apart neighbours of a vector lie.
  SmallVector<int64_t> strides;
  for (const PointOffset &offset : group.offsets) {
    std::vector<int64_t> point = ofThread.front();
    int64_t from = offset.at(point);
    if (vector > 1)
      point[vectorDim] += 1;
    strides.push_back(offset.at(point) - from);
  }
  for (int64_t turn = 0; turn < turns; ++turn) {
    if (double(held.size()) * sectorBytes > capacity)
      held.clear();
    for (int64_t warp = 0; warp < warps(); ++warp)
      for (auto [offset, stride] : llvm::zip(group.offsets, strides)) {
        if (isLoaded(offset, warp, turn))
          continue;
        const int64_t width = stride == 1 ? vector : 1, pieces = stride ? vector / width : 1;
        for (int64_t piece = 0; piece < pieces; ++piece)
          request(sectorsOf(offset, group.bytes(), warp, serial, turn, vectorDim, piece, width));
      }
  }
  traffic.touched = double(touched.size());
  const double scale = traffic.iterations / double(turns);
  for (double *each :
       {&traffic.requests, &traffic.lines, &traffic.sectors, &traffic.misses, &traffic.touched})
    *each *= scale;
  return traffic;
}
