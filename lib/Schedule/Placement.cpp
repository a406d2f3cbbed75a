//===- Placement.cpp - Which thread has which points ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Placement.h"
#include "Accesses.h"
#include "ColumnsNest.h"
#include "MapNest.h"
#include "ReuseNest.h"
#include "RowsNest.h"
#include "RowsOnline.h"
#include "ScanNest.h"
#include "StencilWindows.h"
#include "Transpose.h"

using namespace kbopt;
using namespace mlir;

int64_t Placement::threads() const {
  int64_t all = 1;
  for (const ThreadDigit &digit : digits)
    if (llvm::MulOverflow(all, digit.count, all))
      return 0;
  return all;
}

std::optional<std::vector<SizedDim>> kbopt::sizedDims(kb::NestOp nest, const LaunchSizes &sizes) {
  constexpr int64_t endedByData = 32;
  std::vector<SizedDim> dims;
  llvm::StringMap<int64_t> middle; // the middle of each dimension, for the mean of a triangle
  auto add = [&](StringRef name, kb::ExprAttr extent, bool byData) {
    SmallVector<AffineExpr> values;
    MLIRContext *context = extent.getContext();
    for (unsigned i = 0; i < kb::firstLoopDim; ++i)
      values.push_back(getAffineDimExpr(i, context));
    for (StringAttr loop : extent.getLoops())
      values.push_back(getAffineConstantExpr(middle.lookup(loop.getValue()), context));
    auto map = AffineMap::get(kb::firstLoopDim, extent.getMap().getNumSymbols(),
                              extent.getExpr().replaceDims(values), context);
    auto value = valueAt(kb::ExprAttr::get(context, {}, extent.getSymbols(), map), sizes);
    if (!value && byData)
      value = endedByData;
    if (!value)
      return false;
    dims.push_back({name.str(), std::max<int64_t>(1, std::min(*value, int64_t(1) << 40))});
    middle[name] = dims.back().extent / 2;
    return true;
  };
  for (auto [name, extent] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                       nest.getExtents().getAsRange<kb::ExprAttr>()))
    if (!add(name.getValue(), extent, false))
      return std::nullopt;
  auto isByData = [&](kb::OverOp over) {
    return over.getText() || usesNameOf(over.getExtent(), nest.getBody().front());
  };
  WalkResult result = nest.walk<WalkOrder::PreOrder>([&](kb::OverOp over) {
    if (over.isUnbounded()) {
      dims.push_back({over.getName().str(), endedByData});
      return WalkResult::advance();
    }
    return add(over.getName(), over.getExtent(), isByData(over)) ? WalkResult::advance()
                                                                 : WalkResult::interrupt();
  });
  return result.wasInterrupted() ? std::nullopt : std::optional(std::move(dims));
}

namespace {

/// Makes one placement.
class Placer {
public:
  Placer(kb::NestOp nest, const Schedule &schedule, ArrayRef<SizedDim> dims)
      : nest(nest), schedule(schedule), dims(dims) {}

  std::optional<Placement> run() {
    using Way = bool (Placer::*)();
    const std::pair<StringRef, Way> ways[] = {{"map", &Placer::map},
                                              {"rows", &Placer::rows},
                                              {"columns", &Placer::columns},
                                              {"stencil", &Placer::stencil},
                                              {"reuse", &Placer::reuse},
                                              {"scan", &Placer::scan},
                                              {"transpose", &Placer::transpose}};
    for (const auto &[name, way] : ways)
      if (name == schedule.sketch() && (this->*way)())
        return std::move(made);
    return std::nullopt;
  }

private:
  kb::NestOp nest;
  const Schedule &schedule;
  ArrayRef<SizedDim> dims;
  Placement made;

  int64_t extentOf(StringRef name) const {
    for (const SizedDim &dim : dims)
      if (dim.name == name)
        return dim.extent;
    return 1;
  }
  bool isDim(StringRef name) const {
    return llvm::any_of(dims, [&](const SizedDim &dim) { return dim.name == name; });
  }
  static int64_t parts(int64_t extent, int64_t size) {
    return int64_t(llvm::divideCeil(uint64_t(extent), uint64_t(std::max<int64_t>(1, size))));
  }
  void digit(StringRef dim, int64_t count, int64_t step = 1) {
    made.digits.push_back({{dim.str()}, count, step});
  }
  SmallVector<std::string> points() {
    SmallVector<std::string> names;
    for (auto name : nest.getDims().getAsRange<StringAttr>())
      names.push_back(name.getValue().str());
    return names;
  }
  /// The dimensions of \p names but \p done, the last one fastest.
  void others(ArrayRef<std::string> names, StringRef done) {
    for (const std::string &name : llvm::reverse(names))
      if (name != done)
        digit(name, extentOf(name));
  }

  /// A thread for each point, inner parallel dimensions included.
  bool map() {
    MapNest map = mapNestOf(nest, schedule.string("lanes"));
    SmallVector<std::string> names;
    for (StringRef name : map.box.names)
      names.push_back(name.str());
    StringRef lanes = schedule.string("lanes");
    if (!llvm::is_contained(names, lanes))
      return false;
    int64_t vector = schedule.integer("vector", 1), inflight = schedule.integer("inflight", 1);
    if (!map.hasInnerLoops())
      return plane(names, lanes, vector, inflight);
    if (!plane(names, lanes, 1, 1))
      return false;
    // Vectors and turns are those of the loops of a point.
    made.inflight = inflight > 1 ? inflight : 0;
    made.vector = vector;
    made.vectorDims.clear();
    map.body->walk([&](kb::OverOp over) {
      if (vector == 1 || !isInnermost(over))
        return;
      std::string loop = over.getName().str();
      made.vectorDims.push_back(loop);
      made.turns[loop] = {parts(extentOf(loop), vector), vector};
    });
    return true;
  }
  static bool isInnermost(kb::OverOp over) {
    return over.getBody().front().getOps<kb::OverOp>().empty();
  }

  /// A block reads a tile along one dimension and stores it along another one.
  bool transpose() {
    auto found = transposedDims(nest);
    MapNest map(nest, true);
    if (!found)
      return false;
    auto dealt = [&](StringRef lanes, StringRef other) {
      made.digits.clear();
      made.turns.clear();
      int64_t side = schedule.integer("tile", 32), vector = schedule.integer("vector", 1);
      made.block = schedule.integer("block", 256);
      int64_t across = side / vector, down = made.block / across;
      digit(lanes, across, vector);
      digit(other, down);
      made.turns[other] = {parts(side, down), down};
      digit(lanes, parts(extentOf(lanes), side), side);
      digit(other, parts(extentOf(other), side), side);
      for (StringRef name : llvm::reverse(map.box.names))
        if (name != lanes && name != other)
          digit(name, extentOf(name));
      made.vector = vector;
      made.vectorDims = {lanes.str()};
      made.inflight = parts(side, down);
    };
    dealt(found->writes, found->reads);
    auto stores = std::make_shared<const Placement>(made);
    dealt(found->reads, found->writes);
    made.stores = std::move(stores);
    return true;
  }

  bool plane(ArrayRef<std::string> names, StringRef lanes, int64_t vector, int64_t turns) {
    made.block = schedule.integer("block", 256);
    made.vector = vector;
    made.vectorDims = {lanes.str()};
    int64_t rows = schedule.integer("rows"), extent = extentOf(lanes);
    auto inner =
        llvm::find_if(llvm::reverse(names), [&](const std::string &name) { return name != lanes; });
    if (rows && inner != names.rend()) {
      int64_t across = made.block / rows;
      digit(lanes, across, vector);
      digit(*inner, rows);
      digit(lanes, parts(extent, across * vector), across * vector);
      digit(*inner, parts(extentOf(*inner), rows), rows);
      for (const std::string &name : llvm::reverse(names))
        if (name != lanes && name != *inner)
          digit(name, extentOf(name));
      return true;
    }
    made.isNumbered = names.size() > 1;
    if (turns > 1) {
      digit(lanes, std::min(made.block, parts(extent, vector)), vector);
      made.turns[lanes] = {turns, made.block * vector};
      digit(lanes, parts(extent, made.block * vector * turns), made.block * vector * turns);
      made.inflight = turns;
    } else {
      digit(lanes, parts(extent, vector), vector);
    }
    others(names, lanes);
    return true;
  }

  bool stencil() {
    std::string along = schedule.string("along").str(), lanes = schedule.string("lanes").str();
    int64_t count = schedule.integer("inflight", 4);
    SmallVector<std::string> names = points();
    if (!llvm::is_contained(names, lanes) || !plane(names, lanes, 1, 1))
      return false;
    made.writesOut = schedule.has("fixed");
    made.held = made.writesOut ? heldElements(nest, schedule) : 0;
    if (count == 1)
      return true;
    if (!llvm::is_contained(names, along))
      return false;
    for (ThreadDigit &each : made.digits)
      if (each.dims.front() == along) {
        each.step *= count;
        if (&each == lastDigitOf(along))
          each.count = parts(each.count, count);
      }
    made.turns[along] = {count, 1};
    made.inflight = count;
    made.loadsOnce = true;
    return true;
  }
  ThreadDigit *lastDigitOf(StringRef dim) {
    for (ThreadDigit &each : llvm::reverse(made.digits))
      if (each.dims.front() == dim)
        return &each;
    return nullptr;
  }

  /// Gives \p loops to \p team threads, \p vector neighbouring iterations at a time.
  void share(ArrayRef<std::string> loops, int64_t team, int64_t vector) {
    made.digits.push_back({SmallVector<std::string, 2>(loops.begin(), loops.end()), team, vector});
    for (const std::string &loop : loops)
      made.turns[loop] = {parts(extentOf(loop), team * vector), team * vector};
    made.vectorDims.assign(loops.begin(), loops.end());
    made.vector = vector;
  }

  bool rows() {
    SmallVector<std::string> loops;
    for (kb::OverOp over : laneLoops(nest, schedule.integer("level", 1)))
      loops.push_back(over.getName().str());
    int64_t team = schedule.integer("team", 32);
    if (loops.empty())
      return false;
    share(loops, team, schedule.integer("vector", 1));
    others(points(), "");
    made.isNumbered = nest.getDims().size() > 1;
    made.team = team;
    made.block = schedule.integer("block", 256);
    int64_t chunks = schedule.integer("chunks");
    made.keepsRows = chunks > 0;
    if (schedule.integer("online"))
      for (const OnlinePair &pair : onlinePairsOf(laneLoops(nest, schedule.integer("level", 1))))
        made.online = {kb::OverOp(pair.most).getName().str(),
                       kb::OverOp(pair.sums).getName().str()};
    // Without a number the loop is nvcc's to unroll.
    int64_t inflight = schedule.integer("inflight", 1);
    made.inflight = chunks ? chunks : inflight > 1 ? inflight : 0;
    return true;
  }

  bool scan() {
    ScanNest scan(nest);
    if (!scan.whyNot().empty())
      return false;
    std::string dim = scan.dim.str(), term = scan.termDim.str();
    int64_t team = schedule.integer("team", 256);
    SmallVector<std::string> loops = {dim};
    if (term != dim)
      return false; // a sum over what comes before: its terms are not those of the nest
    int64_t vector = schedule.integer("vector", 1);
    share(loops, team, vector);
    const int64_t launches = schedule.integer("launches", 1);
    if (launches > 1) { // each tile has a block
      made.turns[dim] = Turns();
      digit(dim, parts(extentOf(dim), team * vector), team * vector);
      made.launches = launches;
      made.reads = launches == 3 ? 2 : 1;
    }
    others(points(), dim);
    made.team = team;
    made.block = team * schedule.integer("rows", 1);
    made.inflight = 1;
    return true;
  }

  bool columns() {
    std::string dim = columnDim(nest);
    int64_t columns = schedule.integer("columns", 8), block = schedule.integer("block", 1024),
            vector = schedule.integer("vector", 1), shares = block / columns;
    digit(dim, columns, vector);
    SmallVector<std::string> loops;
    nest.walk([&](kb::OverOp over) {
      if (isa<kb::NestOp>(over->getParentOp()))
        loops.push_back(sharedLoop(over).getName().str());
    });
    if (loops.empty())
      return false;
    made.digits.push_back({SmallVector<std::string, 2>(loops.begin(), loops.end()), shares, 1});
    for (const std::string &loop : loops)
      made.turns[loop] = {parts(extentOf(loop), shares), shares};
    digit(dim, parts(extentOf(dim), columns * vector), columns * vector);
    others(points(), dim);
    made.block = block;
    made.vector = vector;
    made.vectorDims = {dim};
    made.team = shares;
    made.inflight = schedule.integer("inflight", 8);
    return true;
  }

  bool reuse() {
    ReuseNest reuse(nest);
    if (!reuse.whyNot().empty())
      return false;
    int64_t block = schedule.integer("block", 128), count = schedule.integer("inflight", 1);
    for (auto [at, name] : llvm::enumerate(llvm::reverse(reuse.sharing.names))) {
      int64_t own = at == 0 ? count : 1;
      digit(name, parts(extentOf(name), own));
      if (own > 1)
        made.turns[name] = {own, parts(extentOf(name), own)};
    }
    // All points of a block have the same outer ones: threads past the last point are idle.
    if (int64_t sharing = made.threads(); sharing % block)
      made.digits.push_back({{}, parts(block, sharing), 0});
    for (StringRef name : reuse.sharing.names)
      made.sharing.push_back(name.str());
    for (StringRef name : llvm::reverse(reuse.outer.names))
      digit(name, extentOf(name));
    for (const ReuseLoop &loop : reuse.loops)
      made.shared.push_back(const_cast<kb::OverOp &>(loop.over).getName().str());
    made.block = block;
    made.tile = schedule.integer("bk", 128);
    made.sharedBytes = reuse.sharedBytes(made.tile);
    return true;
  }
};

} // namespace

std::optional<Placement> kbopt::placementOf(kb::NestOp nest, const Schedule &schedule,
                                            ArrayRef<SizedDim> dims) {
  return Placer(nest, schedule, dims).run();
}
