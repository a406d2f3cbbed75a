//===- Map.cpp - Threads over independent points ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `map`: a thread for one or several neighbouring points, inner dimensions that are
// parallel included. Lanes run along the dimension in which most bytes are neighbours.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Points.h"
#include "Sketches.h"
#include "Windows.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// A nest as one box of points: its dimensions and the inner ones around the statements.
struct MapNest {
  Box box;
  Block *body;                ///< what runs for a point
  SmallVector<Block *> outer; ///< blocks of scalars around it, outermost first
  bool absorbs = false;       ///< an inner dimension is in the box, as its last one

  explicit MapNest(kb::NestOp nest, bool absorbs) : box(nest), body(&nest.getBody().front()) {
    while (absorbs) {
      auto over = body->empty() ? kb::OverOp() : dyn_cast<kb::OverOp>(body->back());
      bool onlyScalars =
          llvm::all_of(llvm::drop_end(*body), [](Operation &op) { return isa<kb::LetOp>(op); });
      if (!over || !onlyScalars || over.getOrder() != kb::LoopOrder::Any ||
          !isBoxed(over.getExtent()) || CudaText(nest).hostExpression(over.getExtent()).empty())
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

  /// Whether neighbours along \p dim add to neighbouring floats by atomics.
  bool addsNeighbours(StringRef dim) const {
    return llvm::any_of(body->getOps<kb::StoreOp>(), [&](kb::StoreOp store) {
      kb::OperandAttr target = store.getTarget();
      return store.getAtomic() == StringRef("atomicAdd") && target.getType() == "float" &&
             strideAlong(target.getOffset(), dim) == 1;
    });
  }

  /// Whether neighbours along \p dim access elements that lie apart.
  bool hasFarAccesses(StringRef dim) const {
    bool isFar = false;
    auto look = [&](kb::OperandAttr operand) {
      auto stride = strideAlong(operand.getOffset(), dim);
      isFar |= !stride || std::abs(*stride) > 8;
    };
    body->walk([&](Operation *op) {
      for (kb::OperandAttr load : loadsOf(op))
        look(load);
      if (auto store = dyn_cast<kb::StoreOp>(op))
        look(store.getTarget());
    });
    return isFar;
  }

  /// Dimensions that may run over lanes, the best one first.
  SmallVector<StringRef> laneDims() const {
    SmallVector<StringRef> dims;
    if (absorbs)
      return {box.names.back()};
    dims.assign(box.names.rbegin(), box.names.rend());
    llvm::stable_sort(
        dims, [&](StringRef a, StringRef b) { return neighbourBytes(a) > neighbourBytes(b); });
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
  MapPrinter(kb::NestOp nest, StringRef name, const ChipInfo &chip)
      : chip(chip), nest(nest), schedule(nest.getScheduleAttr()), name(name.str()), text(nest),
        map(mapNestOf(nest, schedule.string("lanes"))) {}

  llvm::Expected<GeneratedKernel> run();

private:
  const ChipInfo &chip;
  kb::NestOp nest;
  Schedule schedule;
  std::string name;
  CudaText text;
  MapNest map;
  Needs needs;
  LaneShape shape;
  int64_t block = 256;
  int64_t rows = 0;     ///< of threads, where the grid has an axis for each dimension
  bool isPlane = false; ///< it has
  std::string threads, rowsName;

  std::string chooseShape();
  void nameThings();
  void hoistScalars();
  std::vector<Stream> streamsInFlight();
  void declareDims(CodeLines &to, llvm::function_ref<bool(StringRef)> isUsed);
  bool usesScalar(kb::ExprAttr expr);
  void declarePoint(CodeLines &to, llvm::function_ref<bool(StringRef)> isUsed);
  void printBody(CodeLines &to, ArrayRef<Stream> streams,
                 llvm::function_ref<bool(StringRef)> isUsed);
  std::string constants(StringRef body) const;
  void setGrid(GeneratedKernel &kernel);
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
        offsets.insert(text.expression(operand.getOffset()) + " * " +
                       std::to_string(operand.getBytes()));
    };
    for (kb::OperandAttr load : loadsOf(op))
      look(load);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      look(store.getTarget());
  });
  return offsets.size() == 1;
}

/// Whether each point is a thread of the raised launch, which covers all of them: then memory that
/// two parameters share would be a race between threads there, and only the order within a point
/// matters.
bool pointsAreThreads(kb::NestOp nest) {
  bool hasLoops = false;
  nest.walk([&](kb::OverOp) { hasLoops = true; });
  if (hasLoops)
    return false;
  // Symbols of the requirements that more blocks help to meet: `bdim.x * gdim.x - n`.
  std::set<StringRef> covered;
  auto usesGrid = [](kb::ExprAttr expr) {
    return llvm::any_of(llvm::seq(0u, 3u), [&](unsigned axis) {
      return expr.getExpr().isFunctionOfSymbol(kb::gdimSymbol + axis);
    });
  };
  auto symbolsOf = [](kb::ExprAttr expr) {
    SmallVector<StringRef> names;
    for (auto [index, name] : llvm::enumerate(expr.getSymbols()))
      if (expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
        names.push_back(name.getValue());
    return names;
  };
  auto requirements =
      nest.getRequirements() ? *nest.getRequirements() : ArrayAttr::get(nest.getContext(), {});
  for (auto each : requirements.getAsRange<kb::ExprAttr>()) {
    AffineExpr first = each.getExpr();
    SmallVector<AffineExpr> symbols;
    for (unsigned i = 0; i < each.getMap().getNumSymbols(); ++i)
      symbols.push_back(
          i < kb::firstNamedSymbol
              ? getAffineConstantExpr(i < kb::gdimSymbol ? 1 : 1000, nest.getContext())
              : getAffineConstantExpr(10, nest.getContext()));
    auto many = dyn_cast<AffineConstantExpr>(first.replaceSymbols(symbols));
    for (unsigned i = kb::gdimSymbol; i < kb::firstNamedSymbol; ++i)
      symbols[i] = getAffineConstantExpr(1, nest.getContext());
    auto few = dyn_cast<AffineConstantExpr>(first.replaceSymbols(symbols));
    if (usesGrid(each) && many && few && many.getValue() > few.getValue())
      for (StringRef name : symbolsOf(each))
        covered.insert(name);
  }
  return llvm::all_of(nest.getExtents().getAsRange<kb::ExprAttr>(), [&](kb::ExprAttr extent) {
    SmallVector<StringRef> names = symbolsOf(extent);
    return usesGrid(extent) || (!names.empty() && llvm::all_of(names, [&](StringRef name) {
             return covered.count(name);
           }));
  });
}

/// Two parameters may be the same array where each point uses one element of both: then no thread
/// sees what another one stores. Others must not overlap.
llvm::StringSet<> MapPrinter::separateParameters() {
  if (pointsAreThreads(nest))
    return {};
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
  shape.addsVectors = schedule.string("adds") == "vector";
  if (shape.addsVectors && chip.computeMajor < 9)
    return "adding neighbouring elements by one atomic needs sm_90 or later";
  if (!llvm::isPowerOf2_64(block) || block < 32 || block > 1024)
    return "the key 'block' must be a power of two from 32 to 1024";
  if (!llvm::isPowerOf2_64(shape.vector) || shape.vector > 16 || shape.turns < 1 || shape.turns > 8)
    return "the keys 'vector' and 'inflight' must be powers of two up to 16 and 8";
  if (map.hasInnerLoops() || nest.getDomain())
    shape.vector = shape.turns = 1;
  rows = schedule.integer("rows", 0);
  isPlane = rows > 0;
  if (isPlane && (!llvm::isPowerOf2_64(rows) || rows > block / 8))
    return "the key 'rows' must be a power of two that leaves 8 lanes";
  if (isPlane && (map.box.size() < 2 || map.box.size() > 3 || shape.turns > 1))
    return "a grid with an axis for each dimension needs two or three of them and one access in "
           "flight";
  auto conditions = multipleConditions(nest, map.box.extents.back(), "", shape.vector);
  if (!conditions)
    return "the extent of '" + lanes.str() + "' is not known to be a multiple of anything";
  for (const std::string &condition : *conditions)
    needs.expression(condition);
  if (auto constant = map.box.extents.back().getConstant(); constant && *constant % shape.vector)
    return "the extent of '" + lanes.str() + "' is not a multiple of " +
           std::to_string(shape.vector);
  return "";
}

std::string MapPrinter::comment() const {
  std::string what = "// Lanes run along '" + map.box.names.back().str() + "'";
  if (map.neighbourBytes(map.box.names.back()) > 0)
    what += ", so that they read and write neighbouring elements";
  if (shape.vector > 1)
    what += ", " + std::to_string(shape.vector) + "\n// at a time";
  if (shape.turns > 1)
    what += std::string(shape.vector > 1 ? "" : ",\n//") + " with " + std::to_string(shape.turns) +
            " loads of a thread in flight";
  return what + ".\n";
}

void MapPrinter::nameThings() {
  threads = text.freshName(isPlane ? "lanes" : "threads");
  rowsName = text.freshName("rows");
  shape.width = text.freshName("width");
  shape.chunks = text.freshName("inflight");
  shape.first = text.freshName("first");
  shape.chunk = text.freshName("k");
  shape.element = text.freshName("e");
  shape.lanes = threads;
  shape.isSingle = shape.turns == 1;
  shape.lane =
      shape.isSingle ? "blockIdx.x * " + threads + " + threadIdx.x" : text.freshName("lane");
  if (map.box.size() > 1 && !isPlane)
    shape.counter = text.freshName("point");
  if (shape.isSingle)
    shape.turns = 0;
}

/// Loads of one turn must not wait for the stores of another.
std::vector<Stream> MapPrinter::streamsInFlight() {
  std::vector<Stream> streams;
  StringRef dim = map.box.names.back();
  if (shape.isSingle || !map.outer.empty())
    return streams;
  for (Operation &op : *map.body)
    for (kb::OperandAttr load : loadsOf(&op)) {
      std::string key = elementKey(text, load, dim);
      bool isKnown = llvm::any_of(streams, [&](const Stream &each) { return each.key == key; });
      if (!isKnown && !isa<kb::WhenOp>(op) && !isReadUnderCondition(&op, load) &&
          dependsOn(load.getOffset(), dim) && !usesNameOf(load.getOffset(), *map.body, &text))
        streams.push_back({key, arrayName(text, load), load, Stream::Registers});
    }
  return streams;
}

/// Scalars at the start of the body that are the same for all points of a vector are computed once,
/// before it is loaded.
void MapPrinter::hoistScalars() {
  StringRef dim = map.box.names.back();
  llvm::StringSet<> varying, changed;
  map.body->walk([&](Operation *op) {
    if (auto let = dyn_cast<kb::LetOp>(op); let && let.getReassigns())
      changed.insert(let.getName().split('[').first); // of an array, the element
    if (auto reduce = dyn_cast<kb::ReduceOp>(op))
      changed.insert(reduce.getName());
  });
  for (Operation &op : *map.body) {
    auto let = dyn_cast<kb::LetOp>(op);
    if (!let || shape.vector == 1)
      break;
    bool varies = changed.contains(let.getName());
    for (auto operand : let.getOperands().getAsRange<kb::OperandAttr>())
      varies |= dependsOn(operand.getOffset(), dim);
    collectIdentifiers(let.getText(),
                       [&](StringRef word) { varies |= word == dim || varying.contains(word); });
    for (auto operand : let.getOperands().getAsRange<kb::OperandAttr>())
      for (auto [index, symbol] : llvm::enumerate(operand.getOffset().getSymbols()))
        varies |= varying.contains(symbol) &&
                  operand.getOffset().getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index);
    if (varies)
      varying.insert(let.getName());
    else
      text.hoist(let);
  }
}

/// Whether \p expr names a scalar of the point.
bool MapPrinter::usesScalar(kb::ExprAttr expr) {
  return llvm::any_of(nest.getSymbols().getAsRange<kb::SymbolAttr>(), [&](kb::SymbolAttr symbol) {
    auto names = expr.getSymbols();
    auto found =
        llvm::find_if(names, [&](StringAttr name) { return name.getValue() == symbol.getName(); });
    return symbol.getOrigin() == kb::SymbolOrigin::Varying && found != names.end();
  });
}

void MapPrinter::declareDims(CodeLines &to, llvm::function_ref<bool(StringRef)> isUsed) {
  std::string first = shape.vector == 1 ? map.box.names.back().str() : shape.first;
  if (!shape.counter.empty())
    map.box.declare(text, to, shape.counter, first,
                    [&](StringRef name) { return name == first || isUsed(name); });
}

/// What a turn derives from the number of its first point, and the scalars around the body.
void MapPrinter::declarePoint(CodeLines &to, llvm::function_ref<bool(StringRef)> isUsed) {
  declareDims(to, isUsed);
  if (auto domain = nest.getDomain())
    to.line("if (!(" + text.condition(*domain) + "))").indent().line("return;").outdent();
  for (Block *block : map.outer)
    for (Operation &op : llvm::drop_end(*block))
      StatementPrinter{text, to}.print(&op);
  for (Operation &op : *map.body)
    if (text.isHoisted(&op))
      StatementPrinter{text, to}.print(&op);
}

void MapPrinter::printBody(CodeLines &to, ArrayRef<Stream> streams,
                           llvm::function_ref<bool(StringRef)> isUsed) {
  std::string dim = map.box.names.back().str(), extent = map.box.total(text);
  if (isPlane) {
    size_t last = map.box.size() - 1;
    StringRef row = map.box.names[last - 1];
    extent = text.expression(map.box.extents[last]) + " || " + row.str() +
             " >= " + text.expression(map.box.extents[last - 1]);
    to.line("const int " + row + " = blockIdx.y * " + rowsName + " + threadIdx.y;");
    if (last == 2)
      to.line("const int " + map.box.names[0] + " = blockIdx.z;");
  }
  shape.declare = [&](CodeLines &inner) { declarePoint(inner, isUsed); };
  std::vector<Stream> toFill;
  for (const Stream &stream : streams)
    if (stream.place == Stream::Registers) {
      to.line(declaration(stream, shape));
      if (stream.loads)
        toFill.push_back(stream);
    }
  if (!toFill.empty()) {
    // No address of theirs needs the scalars of a point.
    LaneShape fill = shape;
    if (!shape.counter.empty())
      fill.declare = [&](CodeLines &inner) { declareDims(inner, isUsed); };
    else
      fill.declare = {};
    bool usesScalars = llvm::any_of(
        toFill, [&](const Stream &stream) { return usesScalar(stream.operand.getOffset()); });
    printFill(text, to, dim, extent, usesScalars ? shape : fill, toFill);
  }
  printLaneLoop(text, to, *map.body, dim, extent, shape, streams);
}

std::string MapPrinter::constants(StringRef body) const {
  std::string all = threads + " = " + std::to_string(isPlane ? block / rows : block);
  if (isPlane)
    all += ", " + rowsName + " = " + std::to_string(rows);
  if (mentions(body, shape.width))
    all += ", " + shape.width + " = " + std::to_string(shape.vector);
  if (!shape.isSingle)
    all += ", " + shape.chunks + " = " + std::to_string(shape.turns);
  return all;
}

void MapPrinter::setGrid(GeneratedKernel &kernel) {
  auto covers = [](const std::string &count, int64_t by) {
    std::string term =
        CudaText::isAtom(count) || StringRef(count).contains(" * ") ? count : "(" + count + ")";
    return by == 1 ? count
                   : "(" + term + " + " + std::to_string(by - 1) + ") / " + std::to_string(by);
  };
  kernel.blockX = std::to_string(block);
  if (!isPlane) {
    kernel.gridX = covers(map.box.count(text, needs),
                          block * shape.vector * std::max<int64_t>(shape.turns, 1));
    return;
  }
  size_t last = map.box.size() - 1;
  auto size = [&](size_t i) { return text.hostExpression(map.box.extents[i]); };
  map.box.requirePoints(text, needs);
  kernel.gridX = covers(size(last), block / rows * shape.vector);
  kernel.gridY = covers(size(last - 1), rows);
  if (!map.box.extents[last - 1].getConstant())
    needs.expression(kernel.gridY + " <= 65535");
  if (last == 2) {
    kernel.gridZ = size(0);
    if (!map.box.extents[0].getConstant())
      needs.expression(kernel.gridZ + " <= 65535");
  }
  kernel.blockX = std::to_string(block / rows);
  kernel.blockY = std::to_string(rows);
}

llvm::Expected<GeneratedKernel> MapPrinter::run() {
  if (std::string reason = whyNoBox(nest); !reason.empty())
    return llvm::createStringError(reason);
  if (std::string reason = chooseShape(); !reason.empty())
    return llvm::createStringError(reason);
  if (std::string reason = requireInts(text, needs); !reason.empty())
    return llvm::createStringError(reason);
  nameThings();
  hoistScalars();
  std::vector<Stream> streams =
      streamsOf(text, *map.body, map.box.names.back(), shape, streamsInFlight(), needs);
  if (shape.addsVectors && llvm::none_of(streams, [](const Stream &stream) { return stream.adds; }))
    return llvm::createStringError("no neighbouring floats are added by atomics of which several "
                                   "could be one");
  // Printed once to see what of the point it needs.
  CodeLines draft(1);
  printBody(draft, streams, [](StringRef) { return true; });
  std::string all = draft.take();
  CodeLines code(1);
  printBody(code, streams, [&](StringRef name) { return timesMentioned(all, name) > 1; });
  std::string body = code.take();

  CodeLines start(1);
  start.line("constexpr int " + constants(body) + ";");
  if (!shape.isSingle)
    start.line("const int " + shape.lane + " = blockIdx.x * " + threads + " * " + shape.chunks +
               " + threadIdx.x;");
  GeneratedKernel kernel;
  kernel.name = name;
  setGrid(kernel);
  llvm::StringSet<> unaliased = separateParameters();
  std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
  kernel.definition = comment() + header + "__global__ void __launch_bounds__(" +
                      std::to_string(block) + ") " + name + "(" + text.parameters(unaliased) +
                      ") {\n" + start.take() + body + "}\n";
  kernel.extraParameters = text.extraParameters();
  kernel.conditions = needs.conditions;
  kernel.estimatedRegisters =
      24 + shape.vector * std::max<int64_t>(shape.turns, 1) * streams.size();
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
  /// Neighbouring threads share most of a window, and load what lies side by side.
  bool isSurelyBetter(kb::NestOp nest) const override { return sumsWindows(nest); }
  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &) const override;
  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &chip) const override {
    return MapPrinter(nest, name, chip).run();
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
  auto extent =
      valueAt(map.box.extents[llvm::find(map.box.names, dim) - map.box.names.begin()], sizes);
  while (extent && *extent % vector != 0)
    vector /= 2;
  return vector;
}

/// The number of points for \p sizes, if they tell.
std::optional<int64_t> pointsOf(const MapNest &map, const LaunchSizes &sizes) {
  int64_t points = 1;
  for (kb::ExprAttr extent : map.box.extents) {
    auto count = valueAt(extent, sizes);
    if (!count || llvm::MulOverflow(points, *count, points))
      return std::nullopt;
  }
  return points;
}

std::vector<Schedule> MapSketch::schedules(kb::NestOp nest, const ChipInfo &chip,
                                           const LaunchSizes &sizes, const Freedom &) const {
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
    auto points = pointsOf(map, sizes);
    if (points && *points < int64_t(256 * chip.smCount) && !hasAxes)
      for (int64_t block : {64, 32})
        add(best, block, 1, 1);
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

} // namespace

const Sketch &kbopt::mapSketch() {
  static const MapSketch sketch;
  return sketch;
}
