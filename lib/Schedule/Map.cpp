//===- Map.cpp - Threads over independent points ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `map`: a thread for one or several neighbouring points, inner dimensions that are
// parallel included. Lanes run along the dimension in which most bytes are neighbours.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Bounds.h"
#include "InnerLoops.h"
#include "MapNest.h"
#include "Separate.h"
#include "Sketches.h"
#include "Windows.h"

using namespace kbopt;
using namespace mlir;

namespace {

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
  InnerShape inner; ///< of the loops of a point
  int64_t block = 256;
  int64_t rows = 0;     ///< of threads, where the grid has an axis for each dimension
  bool isPlane = false; ///< it has
  std::string threads, rowsName;
  std::string whole; ///< points that vectors cover, where some may be left; empty: all of them

  std::string chooseShape();
  void nameThings();
  void hoistScalars();
  std::vector<Stream> streamsInFlight();
  void declareDims(CodeLines &to, llvm::function_ref<bool(StringRef)> isUsed);
  bool usesScalar(kb::ExprAttr expr);
  void nameDivisions(CodeLines &to);
  void declarePoint(CodeLines &to, llvm::function_ref<bool(StringRef)> isUsed);
  bool hasTail() const;
  void printTail(CodeLines &to);
  void printBody(CodeLines &to, ArrayRef<Stream> streams,
                 llvm::function_ref<bool(StringRef)> isUsed);
  std::string constants(StringRef body) const;
  void setGrid(GeneratedKernel &kernel);
  std::string comment() const;
};

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
  if (map.hasInnerLoops())
    inner = {std::exchange(shape.vector, 1), std::exchange(shape.turns, 1)};
  if (nest.getDomain())
    shape.vector = shape.turns = 1;
  rows = schedule.integer("rows", 0);
  isPlane = rows > 0;
  if (isPlane && (!llvm::isPowerOf2_64(rows) || rows > block / 8))
    return "the key 'rows' must be a power of two that leaves 8 lanes";
  if (isPlane && (map.box.size() < 2 || map.box.size() > 3 || shape.turns > 1))
    return "a grid with an axis for each dimension needs two or three of them and one access in "
           "flight";
  if (hasTail())
    return "";
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

/// Whether the last points may be fewer than a vector has: threads of the first block compute them,
/// one each.
bool MapPrinter::hasTail() const {
  auto constant = map.box.extents.back().getConstant();
  return shape.vector > 1 && map.box.size() == 1 && map.outer.empty() &&
         !(constant && *constant % shape.vector == 0);
}

std::string MapPrinter::comment() const {
  std::string what = "// Lanes run along '" + map.box.names.back().str() + "'";
  Neighbours neighbours;
  for (Operation &op : *map.body)
    neighbours.add(neighboursAlong(&op, map.box.names.back()));
  if (neighbours.areSide)
    what += neighbours.areApart ? ", along which some of the elements are neighbours"
                                : ", so that they read and write neighbouring elements";
  else if (neighbours.areApart)
    what += ", along which the elements lie apart";
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
  if (hasTail())
    whole = text.freshName("whole");
  shape.packs = shape.vector == 1;
  shape.loop = [this](CodeLines &to, kb::OverOp over, OperandText replaced) {
    return printInnerLoop(text, to, over, inner, replaced, needs);
  };
  shape.isSingle = shape.turns == 1;
  shape.lane =
      shape.isSingle ? "blockIdx.x * " + threads + " + threadIdx.x" : text.freshName("lane");
  if (map.box.size() > 1 && !isPlane)
    shape.counter = text.freshName("point");
  if (shape.isSingle)
    shape.turns = 0;
}

/// Whether \p body loads elements of \p base, which it stores to, only before it stores to any, and
/// outside loops.
static bool loadsBeforeStores(Block &body, kb::BaseAttr base) {
  bool isStored = false, isBefore = true;
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool touches = false;
    for (kb::OperandAttr load : loadsOf(op))
      touches |= load.getBase() == base;
    isBefore &= !(touches && isStored);
    auto store = dyn_cast<kb::StoreOp>(op);
    bool stores = store && store.getTarget().getBase() == base;
    isStored |= stores;
    isBefore &= !((touches || stores) && op->getParentOfType<kb::OverOp>());
  });
  return isBefore;
}

/// Loads of one turn must not wait for the stores of another. An element that the body may store,
/// or of whose array it stores another one, is held as it was before the body.
std::vector<Stream> MapPrinter::streamsInFlight() {
  std::vector<Stream> streams;
  StringRef dim = map.box.names.back();
  if (shape.isSingle || !map.outer.empty())
    return streams;
  for (Operation &op : *map.body)
    for (kb::OperandAttr load : loadsOf(&op)) {
      std::string key = elementKey(text, load, dim);
      bool isKnown = llvm::any_of(streams, [&](const Stream &each) { return each.key == key; });
      bool isHeld = isOnlyElement(text, *map.body, dim, load.getBase(), key);
      if (!isKnown && !isa<kb::WhenOp>(op) && !isReadUnderCondition(&op, load) &&
          dependsOn(load.getOffset(), dim) && !usesNameOf(load.getOffset(), *map.body, &text) &&
          (isHeld || loadsBeforeStores(*map.body, load.getBase()))) {
        streams.push_back({key, arrayName(text, load), load, Stream::Registers});
        streams.back().isOld = !isHeld;
      }
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

/// Computes quotients and rests that the loops of a point ask for again and again once: a compiler
/// does not move a division out of a loop that may not run.
void MapPrinter::nameDivisions(CodeLines &to) {
  auto isOfPoint = [&](kb::ExprAttr expr) {
    bool isKnown = !usesNameOf(expr, nest.getBody().front());
    for (StringAttr loop : expr.getLoops())
      isKnown &= !dependsOn(expr, loop) || llvm::is_contained(map.box.names, loop.getValue());
    return isKnown;
  };
  auto name = [&](kb::ExprAttr whole) {
    whole.getExpr().walk([&](AffineExpr part) {
      bool isRest = part.getKind() == AffineExprKind::Mod;
      if ((!isRest && part.getKind() != AffineExprKind::FloorDiv) ||
          isa<AffineConstantExpr>(cast<AffineBinaryOpExpr>(part).getRHS()))
        return;
      kb::ExprAttr expr = withExpr(whole, part);
      auto *dim =
          llvm::find_if(map.box.names, [&](StringRef each) { return dependsOn(expr, each); });
      std::string division = text.expression(expr);
      if (dim == map.box.names.end() || !isOfPoint(expr) || CudaText::isAtom(division))
        return;
      std::string scalar = text.freshName(dim->str() + (isRest ? "Rest" : "Quotient"));
      to.line("const auto " + scalar + " = " + division + ";");
      text.setDivision(division, scalar);
    });
  };
  map.body->walk([&](kb::OverOp loop) {
    name(loop.getExtent());
    loop.walk([&](Operation *op) {
      for (auto operand : operandsOf(op).getAsRange<kb::OperandAttr>())
        name(operand.getOffset());
      auto when = dyn_cast<kb::WhenOp>(op);
      std::optional<kb::DomainAttr> domain = when ? when.getDomain() : std::nullopt;
      for (unsigned i = 0; domain && i < domain->getSet().getNumConstraints(); ++i)
        name(kb::ExprAttr::get(domain->getContext(), domain->getLoops(), domain->getSymbols(),
                               AffineMap::get(domain->getSet().getNumDims(),
                                              domain->getSet().getNumSymbols(),
                                              domain->getSet().getConstraint(i))));
    });
  });
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
  nameDivisions(to);
}

void MapPrinter::printTail(CodeLines &to) {
  std::string extent = text.expression(map.box.extents.back());
  if (!CudaText::isAtom(extent))
    extent = "(" + extent + ")";
  std::string left = extent + " % " + shape.width;
  to.line("const int " + whole + " = " + extent + " - " + left + ";");
  to.open("if (blockIdx.x == 0 && threadIdx.x < " + left + ")");
  to.line("const int " + map.box.names.back() + " = " + whole + " + threadIdx.x;");
  StatementPrinter print{text, to};
  for (Operation &op : *map.body)
    print.print(&op);
  to.close();
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
  if (!whole.empty()) {
    printTail(to);
    extent = whole;
  }
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
  CudaText before = text;
  printBody(draft, streams, [](StringRef) { return true; });
  text = std::move(before);
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
  llvm::StringSet<> unaliased = separateParameters(text, needs);
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
                                  const Freedom &) const override {
    return mapSchedules(nest, chip, sizes);
  }
  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &chip) const override {
    return MapPrinter(nest, name, chip).run();
  }
};

} // namespace

const Sketch &kbopt::mapSketch() {
  static const MapSketch sketch;
  return sketch;
}
