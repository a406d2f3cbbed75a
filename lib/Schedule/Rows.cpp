//===- Rows.cpp - A team of threads for each row ----------------------------===//
//
// Owns the sketch `rows`: reductions along inner dimensions, and what goes with them, for each point of
// the outer ones. Before, a thread walks its row alone; afterwards
//
//   for (int i = lane; i < C; i += lanes)
//     sum += x[(size_t)row * C + i];
//   for (int offset = 16; offset > 0; offset /= 2)
//     sum += __shfl_xor_sync(0xffffffff, sum, offset);
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Points.h"
#include "RowsNest.h"
#include "Sketches.h"
#include "Team.h"

using namespace kbopt;
using namespace mlir;

namespace {

class RowsPrinter {
public:
  RowsPrinter(kb::NestOp nest, StringRef name, const ChipInfo &chip)
      : nest(nest), chip(chip), schedule(nest.getScheduleAttr()), name(name.str()), text(nest),
        team(text, schedule.integer("team", 32), name), code(1) {}

  llvm::Expected<GeneratedKernel> run();

private:
  kb::NestOp nest;
  const ChipInfo &chip;
  Schedule schedule;
  std::string name;
  CudaText text;
  Team team;
  Needs needs;
  CodeLines code;
  LaneShape shape;
  RowCache cache;
  std::vector<Stream> held; ///< streams of the cache
  std::vector<std::pair<Stream, std::string>> sums; ///< of all rows of a block
  SmallVector<kb::OverOp> lanes;
  int64_t size = 32, rows = 1;
  bool reassociates = false, lanesAreUsed = false;
  int64_t registers = 32;
  /// What the team has touched since its last barrier: bases by key, "" for what is not one loop's own.
  std::map<std::string, std::map<std::string, bool>> touched;

  std::string whyNot();
  void nameThings();
  void chooseVectors();
  /// Words of a row that a thread keeps.
  int64_t heldElements();
  void printPoint(Block &block);
  void laneLoop(kb::OverOp over);
  void fillCache(kb::OverOp over, ArrayRef<Stream> streams, StringRef extent);
  void serialLoop(kb::OverOp over);
  void storesOfFirstLane(ArrayRef<kb::StoreOp> stores);
  std::string partialFor(kb::OverOp over, kb::ReduceOp reduce);
  void touch(ArrayRef<std::pair<kb::OperandAttr, bool>> accesses, kb::OverOp owner);
  bool isVectorLoop(kb::OverOp over);
  std::string comment(StringRef of) const;
  std::string launchBounds();
  int64_t blocksPerSm();
};

std::string RowsPrinter::whyNot() {
  size = schedule.integer("team", 32);
  rows = schedule.integer("rows", 1);
  if (!llvm::isPowerOf2_64(size) || size < 2 || size > 1024)
    return "the key 'team' must be a power of two from 2 to 1024";
  if (rows < 1 || size * rows > 1024 || (size > 32 && rows > 1) || (size * rows) % 32 != 0)
    return "the keys 'team' and 'rows' do not make whole warps of one block";
  StringRef kept = schedule.string("cache");
  if (!kept.empty() && kept != "none" && kept != "registers")
    return "the key 'cache' has no meaning '" + kept.str() + "' here";
  if (!llvm::isPowerOf2_64(schedule.integer("vector", 1)) || schedule.integer("vector", 1) > 16)
    return "the key 'vector' must be a power of two up to 16";
  return whyNotRows(nest, schedule.integer("level", 1));
}

void RowsPrinter::nameThings() {
  shape.lane = team.isBlock() ? "threadIdx.x" : text.freshName("lane");
  shape.lanes = text.freshName("lanes");
  shape.width = text.freshName("width");
  shape.chunks = text.freshName("chunks");
  shape.first = text.freshName("first");
  shape.chunk = text.freshName("k");
  shape.element = text.freshName("e");
  shape.inflight = schedule.integer("inflight", 1);
}

/// The loop's iterations can be taken several at a time.
bool RowsPrinter::isVectorLoop(kb::OverOp over) {
  auto conditions = multipleConditions(nest, over.getExtent(), "", schedule.integer("vector", 1));
  if (!conditions)
    return false;
  bool any = false;
  over.getBody().walk([&](Operation *op) {
    auto look = [&](kb::OperandAttr operand) {
      any |= isVector(text, operand, over.getBody().front(), over.getName(), schedule.integer("vector", 1), nullptr);
    };
    for (kb::OperandAttr load : loadsOf(op))
      look(load);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      look(store.getTarget());
  });
  return any;
}

void RowsPrinter::chooseVectors() {
  if (schedule.string("cache") == "registers")
    cache = rowCacheOf(text, lanes);
  if (!cache.streams.empty()) {
    shape.turns = schedule.integer("chunks", 1);
    shape.vector = llvm::any_of(cache.loops, [&](kb::OverOp over) { return isVectorLoop(over); })
                       ? schedule.integer("vector", 1)
                       : 1;
    for (Stream &stream : cache.streams)
      stream.array = arrayName(text, stream.operand);
    if (team.isBlock() && !nest.getDims().empty())
      for (RowSum &sum : rowSumsOf(text, cache)) {
        sum.stream.array = text.freshName(sum.stream.operand.getBase().getName().str() + "Sums");
        sums.emplace_back(sum.stream, sum.dim);
      }
    registers += heldElements();
  } else {
    cache = {};
  }
}

int64_t RowsPrinter::heldElements() {
  return cache.streams.empty() ? 0 : shape.turns * shape.vector * (wordsHeld(text, cache) + int64_t(sums.size()));
}

std::string RowsPrinter::partialFor(kb::OverOp over, kb::ReduceOp reduce) {
  StringRef variable = reduce.getName();
  if (isIdempotent(reduce))
    return variable.str();
  // The value before the loop is neutral if the last statement that sets it says so.
  for (Operation *op = over->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto let = dyn_cast<kb::LetOp>(op); let && let.getName() == variable) {
      if (isNeutral(reduce, let.getText()))
        return variable.str();
      break;
    }
    bool changes = false;
    op->walk([&](Operation *inner) {
      if (auto each = dyn_cast<kb::ReduceOp>(inner))
        changes |= each.getName() == variable;
      if (auto let = dyn_cast<kb::LetOp>(inner))
        changes |= let.getName() == variable;
    });
    if (changes)
      break;
  }
  return text.freshName("part");
}

void RowsPrinter::touch(ArrayRef<std::pair<kb::OperandAttr, bool>> accesses, kb::OverOp owner) {
  bool conflicts = false;
  std::map<std::string, std::map<std::string, bool>> now;
  for (auto [operand, stores] : accesses) {
    std::string base = operand.getBase().getName().str();
    // Two loops give the same element to the same thread if they share out the same iterations in the same way.
    std::string key = owner ? elementKey(text, operand, owner.getName()) + text.expression(owner.getExtent()) +
                                  (isVectorLoop(owner) ? " vector" : "") +
                                  (llvm::is_contained(cache.loops, owner) ? " turns" : "")
                            : "";
    for (auto &[other, stored] : touched[base])
      conflicts |= (stored || stores) && (other != key || key.empty());
    now[base][key] |= stores;
  }
  if (conflicts) {
    team.barrier(code);
    touched.clear();
  }
  for (auto &[base, keys] : now)
    for (auto &[key, stores] : keys)
      touched[base][key] |= stores;
}

/// Every element that \p root, a statement or a loop, touches; the operands of stores as well.
SmallVector<std::pair<kb::OperandAttr, bool>> accessesOf(Operation *root) {
  SmallVector<std::pair<kb::OperandAttr, bool>> found;
  root->walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      found.push_back({load, false});
    if (auto store = dyn_cast<kb::StoreOp>(op))
      found.push_back({store.getTarget(), true});
  });
  return found;
}

void RowsPrinter::fillCache(kb::OverOp over, ArrayRef<Stream> streams, StringRef extent) {
  std::vector<Stream> toFill;
  for (const Stream &stream : streams) {
    if (stream.place != Stream::Registers || llvm::any_of(held, [&](const Stream &each) { return each.key == stream.key; }))
      continue;
    held.push_back(stream);
    code.line(declaration(stream, shape));
    if (stream.loads)
      toFill.push_back(stream);
  }
  if (!toFill.empty())
    printFill(text, code, over.getName(), extent, shape, toFill);
}

void RowsPrinter::laneLoop(kb::OverOp over) {
  touch(accessesOf(over), over);
  Block &body = over.getBody().front();
  auto *inCache = llvm::find(cache.loops, over);
  bool isCached = inCache != cache.loops.end();
  LaneShape own = shape;
  if (!isCached) {
    own.turns = 0;
    own.vector = isVectorLoop(over) ? schedule.integer("vector", 1) : 1;
  }
  if (own.vector > 1) {
    auto conditions = multipleConditions(nest, over.getExtent(), "", own.vector);
    for (const std::string &condition : *conditions)
      needs.expression(condition);
  }
  std::string extent = text.expression(over.getExtent());
  std::vector<Stream> streams = streamsOf(text, body, over.getName(), own, isCached ? cache.streams : std::vector<Stream>(), needs);
  for (Stream &stream : streams)
    if (stream.place == Stream::Registers && stream.stores)
      stream.writesBack = cache.lastStore[stream.key] == unsigned(inCache - cache.loops.begin());
  if (isCached) {
    fillCache(over, streams, extent);
    for (const auto &[stream, dim] : sums)
      streams.push_back(stream);
  }
  std::map<std::string, std::string> partial;
  for (kb::ReduceOp reduce : reductionsOf(over)) {
    std::string variable = partialFor(over, reduce);
    StringRef type = declarationOf(nest, reduce.getName()).getType();
    type.consume_front("const ");
    if (variable != reduce.getName())
      code.line(type + " " + variable + " = " + reduce.getIdentity() + ";");
    partial[reduce.getName().str()] = variable;
    reassociates |= !isIdempotent(reduce) && !isIntegerType(type);
  }
  over.walk([&](kb::StoreOp store) { reassociates |= store.getAtomic() && !isIntegerType(store.getTarget().getType()); });
  printLaneLoop(text, code, body, over.getName(), extent, own, streams, partial);
  for (kb::ReduceOp reduce : reductionsOf(over)) {
    StringRef type = declarationOf(nest, reduce.getName()).getType();
    type.consume_front("const ");
    std::string variable = partial[reduce.getName().str()];
    team.combine(code, reduce, type, variable);
    if (variable != reduce.getName())
      StatementPrinter{text, code}.combine(reduce, reduce.getName(), variable);
  }
}

void RowsPrinter::serialLoop(kb::OverOp over) {
  StringRef dim = over.getName();
  code.open("for (int " + dim + " = 0; " + dim + " < " + text.expression(over.getExtent()) + "; ++" + dim + ")");
  printPoint(over.getBody().front());
  // The next iteration may touch what this one has stored, unless their order is free.
  bool stores = llvm::any_of(accessesOf(over), [](const auto &each) { return each.second; });
  if (stores && over.getOrder() == kb::LoopOrder::Ascending) {
    team.barrier(code);
    touched.clear();
  }
  code.close();
}

void RowsPrinter::storesOfFirstLane(ArrayRef<kb::StoreOp> stores) {
  SmallVector<std::pair<kb::OperandAttr, bool>> accesses;
  for (kb::StoreOp store : stores)
    llvm::append_range(accesses, accessesOf(store));
  // One thread does them all, in order; only what others do can conflict.
  touch(accesses, {});
  lanesAreUsed = true;
  StatementPrinter printer{text, code};
  std::string head = "if (" + shape.lane + " == 0)";
  if (stores.size() == 1) {
    code.line(head).indent().line(printer.store(stores.front())).outdent();
    return;
  }
  code.open(head);
  for (kb::StoreOp store : stores)
    code.line(printer.store(store));
  code.close();
}

void RowsPrinter::printPoint(Block &block) {
  SmallVector<kb::StoreOp> stores;
  auto flush = [&] {
    if (!stores.empty())
      storesOfFirstLane(stores);
    stores.clear();
  };
  for (Operation &op : block) {
    if (auto store = dyn_cast<kb::StoreOp>(op)) {
      stores.push_back(store);
      continue;
    }
    flush();
    if (auto over = dyn_cast<kb::OverOp>(op)) {
      llvm::is_contained(lanes, over) ? laneLoop(over) : serialLoop(over);
    } else if (auto when = dyn_cast<kb::WhenOp>(op)) {
      SmallVector<std::pair<kb::OperandAttr, bool>> loads;
      for (kb::OperandAttr load : loadsOf(when))
        loads.push_back({load, false});
      touch(loads, {});
      code.open("if (" + text.condition(when) + ")");
      printPoint(when.getBody().front());
      code.close();
      // What was touched inside is not known to be ordered where the condition is false.
    } else {
      touch(accessesOf(&op), {});
      StatementPrinter{text, code}.print(&op);
    }
  }
  flush();
}

std::string RowsPrinter::comment(StringRef points) const {
  std::string who = team.isBlock() ? "The threads of a block" : size == 32 ? "The lanes of a warp" : std::to_string(size) + " lanes";
  std::string what = who + " share one " + points.str() + ", so that neighbouring threads read neighbouring\n// elements";
  if (!cache.streams.empty())
    what += "; what is read again waits in registers";
  if (!sums.empty())
    what += ".\n// A block adds up over its rows before it adds to memory";
  return "// " + what + ".\n";
}

int64_t RowsPrinter::blocksPerSm() {
  if (!team.isBlock() || cache.streams.empty())
    return 1;
  // A loop inside is there once for each element that a thread holds, with addresses of its own.
  constexpr int64_t registersOfLoop = 16;
  bool hasLoops = false;
  for (kb::OverOp over : cache.loops)
    over.getBody().walk([&](kb::OverOp) { hasLoops = true; });
  return residentBlocks(chip, size, shape.turns * shape.vector * (wordsHeld(text, cache) + int64_t(sums.size())) + (hasLoops ? registersOfLoop : 0));
}

/// Several blocks have to share a multiprocessor, so that some of them load while others wait for their warps: the compiler
/// would spend registers on the addresses of elements instead.
std::string RowsPrinter::launchBounds() {
  std::string threads = std::to_string(size * rows);
  int64_t blocks = blocksPerSm();
  return blocks > 1 ? threads + ", " + std::to_string(blocks) : threads;
}

llvm::Expected<GeneratedKernel> RowsPrinter::run() {
  if (std::string reason = whyNot(); !reason.empty())
    return llvm::createStringError(reason);
  if (std::string reason = requireInts(text, needs); !reason.empty())
    return llvm::createStringError(reason);
  lanes = laneLoops(nest, schedule.integer("level", 1));
  nameThings();
  chooseVectors();
  // With fewer, elements of the row would wait in memory again. Indices and sums need some, too.
  if (constexpr int64_t others = 14; heldElements() + others > chip.registersPerThread)
    return llvm::createStringError("a thread would keep " + std::to_string(heldElements()) + " elements in " +
                                   std::to_string(int64_t(chip.registersPerThread)) + " registers");
  else if (double block = (heldElements() + others) * size * rows; block > chip.registersPerBlock)
    return llvm::createStringError("a block needs about " + std::to_string(int64_t(block)) + " registers");
  GeneratedKernel kernel;
  Box box(nest);
  std::string count = box.count(text, needs);
  const auto &dims = box.names;
  std::string flat = dims.size() == 1 ? dims.front().str() : text.freshName("row"), rowsName = text.freshName("rows");

  if (size < 32) {
    team.mask = text.freshName("mates");
  } else {
    team.mask = "0xffffffff";
  }
  for (kb::OverOp over : lanes) {
    kb::ExprAttr largest = largestExtent(nest, over.getExtent());
    std::string host = largest ? text.hostExpression(largest) : "";
    bool isCached = llvm::is_contained(cache.loops, over);
    if (isCached && host.empty())
      return llvm::createStringError("the host does not know the extent of '" + over.getName().str() + "'");
    int64_t capacity = isCached ? shape.turns * size * shape.vector : 0x40000000;
    if (auto constant = largest ? largest.getConstant() : std::nullopt; constant && isCached && *constant > capacity)
      return llvm::createStringError("a row of " + std::to_string(*constant) + " elements does not fit " +
                                     std::to_string(shape.turns) + " turns of the team");
    if (!host.empty() && !largest.getConstant())
      needs.expression(host + " <= " + (isCached ? std::to_string(capacity) : "0x40000000"));
  }
  if (!sums.empty())
    code.indent();
  printPoint(nest.getBody().front());
  std::string body = code.take();
  CodeLines start(1);
  auto isMentioned = [&](StringRef word) { return mentions(body, word); };
  std::string constants = shape.lanes + " = " + std::to_string(size);
  if (!team.isBlock())
    constants += ", " + rowsName + " = " + std::to_string(rows);
  if (isMentioned(shape.width))
    constants += ", " + shape.width + " = " + std::to_string(schedule.integer("vector", 1));
  if (isMentioned(shape.chunks))
    constants += ", " + shape.chunks + " = " + std::to_string(shape.turns);
  start.line("constexpr int " + constants + ";");
  if (!team.isBlock())
    start.line("const int " + shape.lane + " = threadIdx.x;");
  std::string row = team.isBlock() ? "blockIdx.x" : "blockIdx.x * " + rowsName + " + threadIdx.y";
  if (!sums.empty()) {
    for (const auto &[stream, dim] : sums)
      start.line(StringRef(declaration(stream, shape)).drop_back().str() + " = {};");
    start.open("for (int " + flat + " = blockIdx.x; " + flat + " < " + box.total(text) + "; " + flat + " += gridDim.x)");
  } else if (!dims.empty() && (!team.isBlock() || dims.size() > 1 || isMentioned(flat)))
    start.line("const int " + flat + " = " + row + ";");
  if (!team.isBlock()) {
    start.line("if (" + (dims.empty() ? row : flat) + " >= " + box.total(text) + ")").indent().line("return;").outdent();
  }
  if (dims.size() > 1)
    box.declare(text, start, flat, dims.back(), [&](StringRef dim) { return isMentioned(dim) || nest.getDomain(); });
  if (auto domain = nest.getDomain())
    start.line("if (!(" + text.condition(*domain) + "))").indent().line(sums.empty() ? "return;" : "continue;").outdent();
  if (size < 32 && isMentioned(team.mask)) {
    std::string bits = "0x" + llvm::utohexstr((1u << size) - 1, true) + "u";
    start.line("const unsigned " + team.mask + " = " + bits + " << threadIdx.y * " + shape.lanes + " % 32;");
  }

  CodeLines end(1);
  if (!sums.empty()) {
    end.line("}");
    printSums(text, end, text.expression(cache.extent), shape, sums);
  }

  llvm::StringSet<> unaliased = keepApart(text, needs);
  kernel.name = name;
  std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
  std::string points = dims.size() == 1 ? "'" + dims.front().str() + "'" : "point";
  kernel.definition = team.helpers() + comment(points) + header + "__global__ void __launch_bounds__(" + launchBounds() + ") " + name + "(" + text.parameters(unaliased) + ") {\n" +
                      start.take() + body + end.take() + "}\n";
  kernel.extraParameters = text.extraParameters();
  if (!sums.empty()) {
    // Each block adds its sums to memory once.
    std::string most = std::to_string(int64_t(chip.smCount) * std::clamp<int64_t>(blocksPerSm(), 1, 4));
    count = "(" + count + " < " + most + " ? " + count + " : " + most + ")";
  }
  kernel.gridX = rows == 1 ? count : "(" + count + " + " + std::to_string(rows - 1) + ") / " + std::to_string(rows);
  kernel.blockX = std::to_string(size);
  kernel.blockY = std::to_string(rows);
  kernel.conditions = needs.conditions;
  kernel.reassociates = reassociates;
  kernel.estimatedRegisters = registers;
  kernel.sharedBytes = team.sharedBytes();
  kernel.threads = size * rows;
  return kernel;
}

class RowsSketch : public Sketch {
public:
  StringRef name() const override { return "rows"; }
  std::string whyNot(kb::NestOp nest) const override { return whyNotRows(nest, 1); }
  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &freedom) const override {
    return rowsSchedules(nest, chip, sizes, freedom);
  }
  std::optional<Schedule> otherwise(kb::NestOp nest, const ChipInfo &chip, const Schedule &schedule) const override {
    return rowsOtherwise(nest, chip, schedule);
  }
  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name, const ChipInfo &chip) const override {
    return RowsPrinter(nest, name, chip).run();
  }
};

} // namespace

const Sketch &kbopt::rowsSketch() {
  static const RowsSketch sketch;
  return sketch;
}
