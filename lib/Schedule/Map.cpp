//===- Map.cpp - Threads over independent points ----------------------------===//
//
// Owns the sketch `map`: a thread for one or several neighbouring points, inner dimensions that are parallel
// included. Lanes run along the dimension in which most bytes are neighbours.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Points.h"
#include "Sketches.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// A nest as one box of points: its dimensions and the inner ones around the statements.
struct MapNest {
  Box box;
  Block *body;                 ///< what runs for a point
  SmallVector<Block *> outer;  ///< blocks of scalars around it, outermost first
  bool absorbs = false;        ///< an inner dimension is in the box, as its last one

  explicit MapNest(kb::NestOp nest, bool absorbs) : box(nest), body(&nest.getBody().front()) {
    while (absorbs) {
      auto over = body->empty() ? kb::OverOp() : dyn_cast<kb::OverOp>(body->back());
      bool onlyScalars = llvm::all_of(llvm::drop_end(*body), [](Operation &op) { return isa<kb::LetOp>(op); });
      if (!over || !onlyScalars || over.getOrder() != kb::LoopOrder::Any || !isBoxed(over.getExtent()) || CudaText(nest).hostExpression(over.getExtent()).empty())
        break;
      outer.push_back(body);
      box.names.push_back(over.getName());
      box.extents.push_back(over.getExtent());
      body = &over.getBody().front();
      this->absorbs = true;
    }
  }

  static bool isBoxed(kb::ExprAttr extent) {
    return llvm::none_of(extent.getLoops(), [&](StringAttr dim) { return dependsOn(extent, dim); });
  }

  /// Makes \p dim the fastest dimension.
  void makeLast(StringRef dim) {
    auto *found = llvm::find(box.names, dim);
    size_t at = found - box.names.begin();
    std::rotate(box.names.begin() + at, box.names.begin() + at + 1, box.names.end());
    std::rotate(box.extents.begin() + at, box.extents.begin() + at + 1, box.extents.end());
  }

  bool hasInnerLoops() const {
    bool found = false;
    body->walk([&](kb::OverOp) { found = true; });
    return found;
  }

  /// Bytes of the body's accesses that are neighbours along \p dim, less those that lie far apart.
  int64_t neighbourBytes(StringRef dim) const {
    int64_t bytes = 0;
    auto look = [&](kb::OperandAttr operand) {
      auto stride = strideAlong(operand.getOffset(), dim);
      if (stride && *stride == 0)
        return;
      bytes += stride && *stride == 1 ? operand.getBytes() : -operand.getBytes();
    };
    body->walk([&](Operation *op) {
      for (kb::OperandAttr load : loadsOf(op))
        look(load);
      if (auto store = dyn_cast<kb::StoreOp>(op))
        look(store.getTarget());
    });
    return bytes;
  }

  /// Dimensions that may run over lanes, the best one first.
  SmallVector<StringRef> laneDims() const {
    SmallVector<StringRef> dims;
    if (absorbs)
      return {box.names.back()};
    dims.assign(box.names.rbegin(), box.names.rend());
    llvm::stable_sort(dims, [&](StringRef a, StringRef b) { return neighbourBytes(a) > neighbourBytes(b); });
    return dims;
  }
};

/// With its inner parallel dimensions in the box where that gives lanes neighbours.
MapNest mapNestOf(kb::NestOp nest, StringRef lanes) {
  MapNest plain(nest, false), all(nest, true);
  if (!all.absorbs || llvm::is_contained(plain.box.names, lanes))
    return plain;
  if (lanes.empty() && !plain.box.names.empty() &&
      all.neighbourBytes(all.laneDims().front()) < all.neighbourBytes(plain.laneDims().front()))
    return plain;
  return all;
}

class MapPrinter {
public:
  MapPrinter(kb::NestOp nest, StringRef name)
      : nest(nest), schedule(nest.getScheduleAttr()), name(name.str()), text(nest),
        map(mapNestOf(nest, schedule.string("lanes"))), code(1) {}

  llvm::Expected<GeneratedKernel> run();

private:
  kb::NestOp nest;
  Schedule schedule;
  std::string name;
  CudaText text;
  MapNest map;
  Needs needs;
  CodeLines code;
  LaneShape shape;
  int64_t block = 256;
  std::string flat;

  std::string chooseShape();
  llvm::StringSet<> separateParameters();
  std::string comment() const;
};

/// Whether every access to \p base is one element of a point, the same as that of \p other.
bool isSameElement(kb::NestOp nest, kb::BaseAttr base, kb::BaseAttr other) {
  CudaText text(nest);
  std::set<std::string> offsets;
  nest.walk([&](Operation *op) {
    auto look = [&](kb::OperandAttr operand) {
      if (operand.getBase() == base || operand.getBase() == other)
        offsets.insert(text.expression(operand.getOffset()) + " * " + std::to_string(operand.getBytes()));
    };
    for (kb::OperandAttr load : loadsOf(op))
      look(load);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      look(store.getTarget());
  });
  return offsets.size() == 1;
}

/// Two parameters may be the same array where each point uses one element of both: then no thread sees
/// what another one stores. Others must not overlap.
llvm::StringSet<> MapPrinter::separateParameters() {
  Needs all;
  llvm::StringSet<> separate = keepApart(text, all);
  llvm::StringMap<kb::BaseAttr> bases;
  nest.walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      bases[load.getBase().getName()] = load.getBase();
    if (auto store = dyn_cast<kb::StoreOp>(op))
      bases[store.getTarget().getBase().getName()] = store.getTarget().getBase();
  });
  for (const LaunchCondition &condition : all.conditions) {
    if (!isSameElement(nest, bases[condition.text], bases[condition.other])) {
      needs.disjoint(bases[condition.text], bases[condition.other]);
    } else if (!llvm::is_contained(needs.conditions, condition)) {
      separate.erase(condition.text);
      separate.erase(condition.other);
    }
  }
  return separate;
}

std::string MapPrinter::chooseShape() {
  StringRef lanes = schedule.string("lanes");
  if (lanes.empty())
    lanes = map.laneDims().empty() ? "" : map.laneDims().front();
  if (!llvm::is_contained(map.box.names, lanes))
    return "'" + lanes.str() + "' is not a dimension whose iterations are independent";
  if (map.absorbs && lanes != map.box.names.back())
    return "lanes cannot run along '" + lanes.str() + "'";
  map.makeLast(lanes);
  block = schedule.integer("block", 256);
  shape.vector = schedule.integer("vector", 1);
  shape.turns = schedule.integer("inflight", 1);
  if (!llvm::isPowerOf2_64(block) || block < 32 || block > 1024)
    return "the key 'block' must be a power of two from 32 to 1024";
  if (!llvm::isPowerOf2_64(shape.vector) || shape.vector > 16 || shape.turns < 1 || shape.turns > 8)
    return "the keys 'vector' and 'inflight' must be powers of two up to 16 and 8";
  if (map.hasInnerLoops() || nest.getDomain())
    shape.vector = shape.turns = 1;
  auto conditions = multipleConditions(nest, map.box.extents.back(), "", shape.vector);
  if (!conditions)
    return "the extent of '" + lanes.str() + "' is not known to be a multiple of anything";
  for (const std::string &condition : *conditions)
    needs.expression(condition);
  if (auto constant = map.box.extents.back().getConstant(); constant && *constant % shape.vector)
    return "the extent of '" + lanes.str() + "' is not a multiple of " + std::to_string(shape.vector);
  return "";
}

std::string MapPrinter::comment() const {
  std::string what = "// Lanes run along '" + map.box.names.back().str() + "', so that they read and write neighbouring elements";
  if (shape.vector > 1)
    what += ", " + std::to_string(shape.vector) + "\n// at a time";
  if (!shape.isSingle)
    what += std::string(shape.vector > 1 ? "" : ",\n//") + " with " + std::to_string(shape.turns) + " loads of a thread in flight";
  return what + ".\n";
}

llvm::Expected<GeneratedKernel> MapPrinter::run() {
  if (std::string reason = whyNoBox(nest); !reason.empty())
    return llvm::createStringError(reason);
  if (std::string reason = chooseShape(); !reason.empty())
    return llvm::createStringError(reason);
  std::string threads = text.freshName("threads"), dim = map.box.names.back().str();
  shape.width = text.freshName("width");
  shape.chunks = text.freshName("inflight");
  shape.first = text.freshName("first");
  shape.chunk = text.freshName("k");
  shape.element = text.freshName("e");
  shape.lanes = threads;
  bool isFlat = map.box.size() > 1;
  shape.isSingle = shape.turns == 1;
  if (isFlat)
    shape.counter = flat = text.freshName("point");
  std::string first = shape.vector == 1 ? dim : shape.first;
  std::string lane = "blockIdx.x * " + threads + " + threadIdx.x";
  if (!shape.isSingle) {
    shape.lane = text.freshName("lane");
    lane = "blockIdx.x * " + threads + " * " + shape.chunks + " + threadIdx.x";
  } else {
    shape.turns = 0;
    shape.lane = lane;
  }
  std::string count = map.box.count(text, needs), total = map.box.total(text);
  // Loads of one turn must not wait for the stores of another.
  std::vector<Stream> cached;
  if (!shape.isSingle)
    for (Operation &op : *map.body)
      for (kb::OperandAttr load : loadsOf(&op)) {
        std::string key = elementKey(text, load, dim);
        bool isKnown = llvm::any_of(cached, [&](const Stream &each) { return each.key == key; });
        if (!isKnown && !isa<kb::WhenOp>(op) && dependsOn(load.getOffset(), dim) && map.outer.empty() && !usesNameOf(load.getOffset(), *map.body))
          cached.push_back({key, arrayName(text, load), load, Stream::Registers});
      }
  LaneShape bodyShape = shape;
  if (!shape.isSingle)
    bodyShape.turns = schedule.integer("inflight", 1);
  std::vector<Stream> streams = streamsOf(text, *map.body, dim, bodyShape, cached, needs);
  std::string mentioned; // what the body needs of the point, printed once to see
  bodyShape.declare = [&](CodeLines &to) {
    if (isFlat)
      map.box.declare(text, to, flat, first, [&](StringRef name) { return mentioned.empty() || name == first || mentions(mentioned, name); });
    if (auto domain = nest.getDomain()) {
      to.line("if (!(" + text.condition(*domain) + "))").indent().line("return;").outdent();
    }
    for (Block *block : map.outer)
      for (Operation &op : llvm::drop_end(*block))
        StatementPrinter{text, to}.print(&op);
  };
  auto print = [&](CodeLines &to) {
    std::vector<Stream> toFill;
    for (const Stream &stream : streams)
      if (stream.place == Stream::Registers) {
        to.line(declaration(stream, bodyShape));
        if (stream.loads)
          toFill.push_back(stream);
      }
    if (!toFill.empty())
      printFill(text, to, dim, total, bodyShape, toFill);
    printLaneLoop(text, to, *map.body, dim, total, bodyShape, streams);
  };
  if (isFlat) {
    auto declare = std::exchange(bodyShape.declare, [&](CodeLines &to) {
      for (Block *block : map.outer)
        for (Operation &op : llvm::drop_end(*block))
          StatementPrinter{text, to}.print(&op);
      if (nest.getDomain())
        to.line(text.condition(*nest.getDomain()));
    });
    CodeLines draft(1);
    print(draft);
    mentioned = draft.take();
    bodyShape.declare = declare;
  }
  print(code);
  std::string body = code.take();

  CodeLines start(1);
  std::string constants = threads + " = " + std::to_string(block);
  if (mentions(body, shape.width))
    constants += ", " + shape.width + " = " + std::to_string(shape.vector);
  if (!shape.isSingle)
    constants += ", " + shape.chunks + " = " + std::to_string(bodyShape.turns);
  start.line("constexpr int " + constants + ";");
  if (!shape.isSingle)
    start.line("const int " + shape.lane + " = " + lane + ";");

  GeneratedKernel kernel;
  kernel.name = name;
  llvm::StringSet<> unaliased = separateParameters();
  std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
  kernel.definition = comment() + header + "__global__ void __launch_bounds__(" + std::to_string(block) + ") " + name + "(" +
                      text.parameters(unaliased) + ") {\n" + start.take() + body + "}\n";
  kernel.extraParameters = text.extraParameters();
  int64_t covered = block * shape.vector * bodyShape.turns;
  covered = std::max(covered, block * shape.vector);
  kernel.gridX = "(" + (isFlat || CudaText::isAtom(count) ? count : "(" + count + ")") + " + " + std::to_string(covered - 1) + ") / " + std::to_string(covered);
  kernel.blockX = std::to_string(block);
  kernel.conditions = needs.conditions;
  kernel.estimatedRegisters = 24 + shape.vector * std::max<int64_t>(bodyShape.turns, 1) * streams.size();
  kernel.threads = block;
  return kernel;
}

class MapSketch : public Sketch {
public:
  StringRef name() const override { return "map"; }
  std::string whyNot(kb::NestOp nest) const override {
    if (std::string reason = whyNoBox(nest); !reason.empty())
      return reason;
    return Box(nest).size() || MapNest(nest, true).absorbs ? "" : "it has a single point";
  }
  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &) const override;
  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name, const ChipInfo &) const override {
    return MapPrinter(nest, name).run();
  }
};

/// The widest access of a lane, in elements.
int64_t widestVector(kb::NestOp nest, const MapNest &map, StringRef dim, const LaunchSizes &sizes) {
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
  auto extent = valueAt(map.box.extents[llvm::find(map.box.names, dim) - map.box.names.begin()], sizes);
  while (extent && *extent % vector != 0)
    vector /= 2;
  return vector;
}

std::vector<Schedule> MapSketch::schedules(kb::NestOp nest, const ChipInfo &, const LaunchSizes &sizes,
                                           const Freedom &) const {
  std::vector<Schedule> all;
  MapNest map = mapNestOf(nest, "");
  auto add = [&](StringRef lanes, int64_t block, int64_t vector, int64_t inflight) {
    Schedule schedule("map");
    schedule.set("lanes", lanes).set("block", block).set("vector", vector).set("inflight", inflight);
    if (!llvm::is_contained(all, schedule))
      all.push_back(schedule);
  };
  SmallVector<StringRef> dims = map.laneDims();
  StringRef best = dims.front();
  int64_t vector = widestVector(nest, map, best, sizes);
  if (map.hasInnerLoops()) {
    for (StringRef dim : ArrayRef(dims).take_front(2))
      for (int64_t block : {256, 128})
        add(dim, block, 1, 1);
    return all;
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

} // namespace

const Sketch &kbopt::mapSketch() {
  static const MapSketch sketch;
  return sketch;
}
