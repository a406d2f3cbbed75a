//===- ReuseNest.cpp - Loops in which all points read the same --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReuseNest.h"
#include "Accesses.h"
#include "Bounds.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// Elements that lie farther apart than this have tiles of their own.
constexpr int64_t mostApart = 16;
/// Elements of one iteration that a tile may hold.
constexpr int64_t mostWidth = 64;

/// A load in a loop at the top of a nest.
struct LoopLoad {
  kb::OverOp loop; ///< the one at the top
  Operation *op;
  kb::OperandAttr operand;
  kb::ExprAttr offset, lowest; ///< null where the elements of an iteration are not known
  int64_t width = 1;
  kb::ExprAttr size;        ///< as in a tile
  std::set<StringRef> dims; ///< those of the nest on which it depends
};

/// Every load of a nest, in one space.
class Loads {
public:
  explicit Loads(kb::NestOp nest) : nest(nest), text(nest) {
    for (auto dim : nest.getDims().getAsRange<StringAttr>())
      space.push_back(dim);
    nest.walk<WalkOrder::PreOrder>([&](kb::OverOp over) { space.push_back(over.getNameAttr()); });
    for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      symbols.push_back(StringAttr::get(nest.getContext(), symbol.getName()));
    nest.walk([&](kb::StoreOp store) { stored.insert(store.getTarget().getBase()); });
  }

  /// The loads that change in each iteration of \p loop.
  std::vector<LoopLoad> of(kb::OverOp loop) {
    std::vector<LoopLoad> all;
    loop.getBody().walk([&](Operation *op) {
      for (kb::OperandAttr operand : loadsOf(op)) {
        LoopLoad load{loop, op, operand, {}, {}, 1, {}, {}};
        describe(load);
        if (load.lowest || changesIn(loop, operand))
          all.push_back(std::move(load));
      }
    });
    return all;
  }

private:
  kb::NestOp nest;
  CudaText text;
  SmallVector<StringAttr> space, symbols;
  llvm::SetVector<kb::BaseAttr> stored;

  bool changesIn(kb::OverOp loop, kb::OperandAttr operand) {
    bool changes = dependsOn(operand.getOffset(), loop.getName()) ||
                   usesNameOf(operand.getOffset(), loop.getBody().front());
    loop.getBody().walk(
        [&](kb::OverOp inner) { changes |= dependsOn(operand.getOffset(), inner.getName()); });
    return changes;
  }

  /// Finds which elements an iteration of the loop at the top reads.
  void describe(LoopLoad &load) {
    kb::OverOp loop = load.loop;
    kb::ExprAttr offset = load.operand.getOffset();
    if (!dependsOn(offset, loop.getName()) || stored.contains(load.operand.getBase()) ||
        usesNameOf(offset, nest.getBody().front()))
      return;
    load.offset = inSpace(offset, space, symbols);
    kb::ExprAttr lowest = load.offset, highest = load.offset;
    for (Operation *up = load.op->getParentOp(); up != loop; up = up->getParentOp()) {
      auto inner = dyn_cast<kb::OverOp>(up);
      if (!inner || !dependsOn(offset, inner.getName()))
        continue;
      if (!strideAlong(offset, inner.getName()) || text.hostExpression(inner.getExtent()).empty())
        return;
      kb::ExprAttr extent = inSpace(inner.getExtent(), space, symbols);
      lowest = extreme(lowest, inner.getName(), extent, false);
      highest = extreme(highest, inner.getName(), extent, true);
    }
    kb::ExprAttr size = combined(highest, -1, lowest, 1);
    auto constant = size.getConstant();
    if (constant ? *constant < 1 || *constant > mostWidth : text.hostExpression(size).empty())
      return;
    load.lowest = lowest;
    load.width = constant.value_or(mostWidth);
    load.size = constant ? kb::ExprAttr() : size;
    for (auto dim : nest.getDims().getAsRange<StringAttr>())
      if (dependsOn(offset, dim))
        load.dims.insert(dim.getValue());
  }
};

/// Where \p when leaves out one iteration of \p loop for each point (`if (j != i)`), the dimension
/// of the points that it asks for; empty otherwise.
StringRef dimLeftOut(kb::NestOp nest, kb::WhenOp when, kb::OverOp loop) {
  ArrayAttr operands = when.getOperands();
  if (when.getText() != "$0 != $1" || operands.size() != 2)
    return "";
  auto expr = [&](unsigned i) { return cast<kb::OperandAttr>(operands[i]); };
  for (unsigned self : {0u, 1u}) {
    kb::OperandAttr term = expr(self), point = expr(1 - self);
    if (term.getKind() != kb::OperandKind::Index || point.getKind() != kb::OperandKind::Index ||
        strideAlong(term.getOffset(), loop.getName()) != 1 ||
        dependsOn(point.getOffset(), loop.getName()))
      continue;
    for (auto dim : nest.getDims().getAsRange<StringAttr>())
      if (strideAlong(point.getOffset(), dim) == 1 && !dependsOn(term.getOffset(), dim))
        return dim.getValue();
  }
  return "";
}

/// Whether each element that \p load names is surely read, by some point whose dimensions beside
/// \p sharing are the same. Adds what sizes must be for that to \p conditions.
bool isSurelyRead(kb::NestOp nest, LoopLoad load, const Box &sharing,
                  std::vector<std::string> &conditions) {
  if (isReadUnderCondition(load.op, load.operand))
    return false;
  CudaText text(nest);
  unsigned leftOut = 0;
  auto require = [&](const std::string &condition) {
    if (!llvm::is_contained(conditions, condition))
      conditions.push_back(condition);
  };
  for (Operation *up = load.op->getParentOp(); up != load.loop; up = up->getParentOp()) {
    if (auto inner = dyn_cast<kb::OverOp>(up)) {
      auto constant = inner.getExtent().getConstant();
      std::string host = text.hostExpression(inner.getExtent());
      if (inner.getText() || host.empty() || (constant && *constant < 1))
        return false;
      if (!constant)
        require(host + " > 0");
      continue;
    }
    auto when = dyn_cast<kb::WhenOp>(up);
    StringRef dim = when ? dimLeftOut(nest, when, load.loop) : StringRef();
    auto *found = llvm::find(sharing.names, dim);
    if (found == sharing.names.end() || leftOut++)
      return false;
    kb::ExprAttr extent = sharing.extents[found - sharing.names.begin()];
    if (auto constant = extent.getConstant(); constant && *constant < 2)
      return false;
    if (!extent.getConstant())
      require(text.hostExpression(extent) + " > 1");
  }
  if (load.size)
    require(text.hostExpression(load.size) + " <= " + std::to_string(mostWidth));
  return true;
}

/// Whether a loop at the top of a nest runs equally often for all points of \p sharing.
bool isUniform(kb::NestOp nest, kb::OverOp over, const Box &sharing) {
  return !over.getText() && !usesNameOf(over.getExtent(), nest.getBody().front()) &&
         llvm::none_of(sharing.names,
                       [&](StringRef dim) { return dependsOn(over.getExtent(), dim); });
}

void addTo(std::vector<ReuseTile> &tiles, const LoopLoad &load) {
  for (ReuseTile &tile : tiles) {
    kb::OperandAttr like = tile.operands.front();
    if (like.getBase() != load.operand.getBase() || like.getType() != load.operand.getType())
      continue;
    if (llvm::is_contained(tile.operands, load.operand))
      return;
    auto above = combined(load.lowest, -1, tile.lowest, 0).getConstant();
    if (!above || std::abs(*above) >= mostApart || load.size != tile.size ||
        (load.size && *above != 0))
      continue;
    int64_t end = std::max(tile.width, *above + load.width), start = std::min<int64_t>(0, *above);
    if (end - start > mostWidth)
      continue;
    tile.lowest = *above < 0 ? load.lowest : tile.lowest;
    tile.width = end - start;
    tile.operands.push_back(load.operand);
    tile.offsets.push_back(load.offset);
    return;
  }
  tiles.push_back({{load.operand}, {load.offset}, load.lowest, load.width, load.size});
}

/// How many accesses of \p nest are neighbours along \p dim.
int64_t neighbours(kb::NestOp nest, StringRef dim) {
  int64_t count = 0;
  auto look = [&](kb::OperandAttr operand) { count += strideAlong(operand.getOffset(), dim) == 1; };
  nest.walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      look(load);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      look(store.getTarget());
  });
  return count;
}

} // namespace

ReuseNest::ReuseNest(kb::NestOp nest) : sharing(nest), outer(nest), nest(nest) {
  Loads loads(nest);
  std::vector<LoopLoad> all;
  for (auto over : nest.getBody().front().getOps<kb::OverOp>())
    llvm::append_range(all, loads.of(over));
  // The dimension whose points share most, and those that go with it.
  auto lacks = [](const LoopLoad &load, StringRef dim) {
    return load.lowest && !load.dims.count(dim);
  };
  auto score = [&](StringRef dim) {
    return llvm::count_if(all, [&](const LoopLoad &load) { return lacks(load, dim); });
  };
  StringRef best;
  for (StringRef dim : llvm::reverse(outer.names))
    if (best.empty() || score(dim) > score(best))
      best = dim;
  sharing.names.clear(), sharing.extents.clear();
  Box every = std::exchange(outer, sharing);
  for (auto [dim, extent] : llvm::zip(every.names, every.extents)) {
    bool goesWith = dim == best || llvm::all_of(all, [&, dim = dim](const LoopLoad &load) {
                      return !lacks(load, best) || lacks(load, dim);
                    });
    Box &box = goesWith ? sharing : outer;
    box.names.push_back(dim);
    box.extents.push_back(extent);
  }
  // Neighbouring lanes have neighbouring elements.
  size_t last = 0;
  for (size_t i = 0; i < sharing.size(); ++i)
    if (neighbours(nest, sharing.names[i]) >= neighbours(nest, sharing.names[last]))
      last = i;
  if (sharing.size()) {
    std::rotate(sharing.names.begin() + last, sharing.names.begin() + last + 1,
                sharing.names.end());
    std::rotate(sharing.extents.begin() + last, sharing.extents.begin() + last + 1,
                sharing.extents.end());
  }
  size_t shared = 0, others = 0;
  for (auto over : nest.getBody().front().getOps<kb::OverOp>()) {
    ReuseLoop loop{over, {}};
    for (const LoopLoad &load : all) {
      if (load.loop != over)
        continue;
      bool isShared = best.empty() ? false
                                   : lacks(load, best) && isUniform(nest, over, sharing) &&
                                         isSurelyRead(nest, load, sharing, conditions);
      if (isShared)
        addTo(loop.tiles, load);
      ++(isShared ? shared : others);
    }
    if (!loop.tiles.empty())
      loops.push_back(std::move(loop));
  }
  if (loops.empty())
    reason = "its points read no common elements in a loop";
  else if (others > shared)
    reason = "its points read more elements of their own in a loop than common ones";
}

std::string ReuseNest::whyNot() const {
  if (std::string why = whyNoBox(nest); !why.empty())
    return why;
  return kb::NestOp(nest).getDomain() ? "its points are not a box" : reason;
}

int64_t ReuseNest::sharedBytes(int64_t terms) const {
  int64_t most = 0;
  for (const ReuseLoop &loop : loops) {
    int64_t bytes = 0;
    for (const ReuseTile &tile : loop.tiles)
      bytes += terms * tile.bytes();
    most += bytes;
  }
  return most;
}

const ReuseLoop *ReuseNest::find(Operation *op) const {
  for (const ReuseLoop &loop : loops)
    if (loop.over == op)
      return &loop;
  return nullptr;
}
