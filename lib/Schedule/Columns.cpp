//===- Columns.cpp - A block for a few columns of a matrix ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `columns`: a reduction down the columns of a matrix whose rows lie one after the
// other. Neighbouring lanes take neighbouring columns, the rest of the block shares the rows, and
// the partial results of a column are combined by shuffles and one shared array.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "ColumnsNest.h"
#include "Points.h"
#include "RowsNest.h"
#include "Sketches.h"
#include "Team.h"
#include <cmath>

using namespace kbopt;
using namespace mlir;

namespace {

class ColumnsPrinter {
public:
  ColumnsPrinter(kb::NestOp nest, StringRef name)
      : nest(nest), schedule(nest.getScheduleAttr()), name(name.str()), text(nest),
        dim(columnDim(nest)), box(nest), code(1) {}

  llvm::Expected<GeneratedKernel> run();

private:
  kb::NestOp nest;
  Schedule schedule;
  std::string name;
  CudaText text;
  std::string dim;
  Box box;
  Needs needs;
  CodeLines code;
  LaneShape shape;
  int64_t columns = 8, threads = 1024, inflight = 8, shared = 0;
  std::string inside; ///< whether the thread's column is one of its own
  std::string helpers;
  std::map<std::string, std::string> known; ///< helper by type and combination
  bool reassociates = false;
  SmallVector<Operation *> pending; ///< scalars of the point that are printed together

  std::string chooseShape();
  void printPoint();
  void flushScalars();
  void loop(kb::OverOp top);
  void sharedBody(kb::OverOp top, kb::OverOp over);
  void stores(ArrayRef<Operation *> ops);
  void perColumn(llvm::function_ref<void(CodeLines &)> print);
  std::string helper(kb::ReduceOp reduce, StringRef type);
  std::string typeOf(kb::ReduceOp reduce);
};

std::string ColumnsPrinter::chooseShape() {
  columns = schedule.integer("columns", 8);
  threads = schedule.integer("block", 1024);
  inflight = schedule.integer("inflight", 8);
  shape.vector = schedule.integer("vector", 1);
  if (!llvm::isPowerOf2_64(columns) || columns < 2 || columns > 32)
    return "the key 'columns' must be a power of two from 2 to 32";
  if (!llvm::isPowerOf2_64(threads) || threads < 64 || threads > 1024)
    return "the key 'block' must be a power of two from 64 to 1024";
  if (!llvm::isPowerOf2_64(shape.vector) || shape.vector > 16)
    return "the key 'vector' must be a power of two up to 16";
  llvm::StringSet<> outer, inner;
  nest.walk([&](kb::LetOp let) {
    if (!let.getReassigns())
      (let->getBlock() == &columnBody(nest) ? outer : inner).insert(let.getName());
  });
  for (const auto &each : outer)
    if (inner.contains(each.getKey()))
      return "'" + each.getKey().str() + "' names two scalars";
  for (Operation &op : columnBody(nest))
    if ((isa<kb::WhenOp>(op) || columnGuard(nest)) && shape.vector > 1)
      return "a condition stands around what is stored; only one column a thread is possible";
  auto conditions = multipleConditions(nest, box.extents.back(), "", shape.vector);
  auto constant = box.extents.back().getConstant();
  if (!conditions || (constant && *constant % shape.vector))
    return "the number of columns is not known to be a multiple of " + std::to_string(shape.vector);
  for (const std::string &condition : *conditions)
    needs.expression(condition);
  return "";
}

std::string ColumnsPrinter::typeOf(kb::ReduceOp reduce) {
  StringRef type = declarationOf(nest, reduce.getName()).getType();
  type.consume_front("const ");
  return type.str();
}

std::string ColumnsPrinter::helper(kb::ReduceOp reduce, StringRef type) {
  std::string key = (type + " " + reduce.getCombine()).str();
  if (auto found = known.find(key); found != known.end())
    return found->second;
  StringRef kind = reduce.getReduction();
  std::string function = text.freshName(name + "_" +
                                        (kind == "add"   ? "sum"
                                         : kind == "mul" ? "product"
                                                         : kind.str()));
  std::string of = std::to_string(columns), warps = std::to_string(threads / 32);
  CodeLines lines;
  StatementPrinter printer{text, lines};
  lines.line("/// Combines `value` over the threads of a column; all of them get the result.");
  lines.open("__device__ " + type + " " + function + "(" + type + " value)");
  lines.line("__shared__ " + type + " ofWarp[" + warps + "][" + of + "];");
  lines.line("const int warp = (threadIdx.y * " + of + " + threadIdx.x) / 32;");
  if (columns < 32) {
    lines.unroll().open("for (int offset = 16; offset >= " + of + "; offset /= 2)");
    if (reduce.getCombine().count("%b") > 1)
      lines.line("const " + type + " other = __shfl_xor_sync(0xffffffff, value, offset);");
    printer.combine(reduce, "value",
                    reduce.getCombine().count("%b") > 1
                        ? "other"
                        : "__shfl_xor_sync(0xffffffff, value, offset)");
    lines.close();
  }
  lines.line("__syncthreads(); // an earlier call has been read");
  lines.open("if (threadIdx.y % " + std::to_string(32 / columns) + " == 0)")
      .line("ofWarp[warp][threadIdx.x] = value;")
      .close();
  lines.line("__syncthreads();");
  lines.line("value = ofWarp[0][threadIdx.x];");
  lines.unroll().open("for (int other = 1; other < " + warps + "; ++other)");
  printer.combine(reduce, "value", "ofWarp[other][threadIdx.x]");
  lines.close().line("return value;").close();
  helpers += lines.take() + "\n";
  shared += threads / 32 * columns *
            (StringRef(type).contains("double") || StringRef(type).contains("long") ? 8 : 4);
  return known[key] = function;
}

/// Prints what runs once for each of the thread's columns.
void ColumnsPrinter::perColumn(llvm::function_ref<void(CodeLines &)> print) {
  if (shape.vector == 1)
    return print(code);
  CodeLines draft;
  print(draft);
  code.unroll().open("for (int " + shape.element + " = 0; " + shape.element + " < " + shape.width +
                     "; ++" + shape.element + ")");
  if (mentions(draft.take(), dim))
    code.line("const int " + dim + " = " + shape.first + " + " + shape.element + ";");
  print(code);
  code.close();
}

void ColumnsPrinter::flushScalars() {
  if (pending.empty())
    return;
  if (shape.vector > 1)
    for (Operation *op : pending)
      if (auto let = dyn_cast<kb::LetOp>(op); let && !let.getReassigns()) {
        StringRef type = let.getType();
        type.consume_front("const ");
        code.line(type + " " + let.getName() + "[" + shape.width + "];");
        text.setScalar(let.getName(), let.getName().str() + "[" + shape.element + "]");
      }
  perColumn([&](CodeLines &to) {
    for (Operation *op : pending) {
      auto let = dyn_cast<kb::LetOp>(op);
      if (let && shape.vector > 1 && !let.getText().empty())
        to.line(let.getName() + "[" + shape.element +
                "] = " + text.fill(let.getText(), let.getOperands()) + ";");
      else if (!let || shape.vector == 1)
        StatementPrinter{text, to}.print(op);
    }
  });
  pending.clear();
}

void ColumnsPrinter::stores(ArrayRef<Operation *> ops) {
  code.open("if (threadIdx.y == 0 && " + inside + ")");
  perColumn([&](CodeLines &to) {
    for (Operation *op : ops)
      StatementPrinter{text, to}.print(op);
  });
  code.close();
}

void ColumnsPrinter::sharedBody(kb::OverOp top, kb::OverOp over) {
  Block &body = over.getBody().front();
  StringRef row = over.getName();
  SmallVector<kb::OverOp> around;
  for (kb::OverOp each = over; each != top;) {
    each = cast<kb::OverOp>(each->getParentOp());
    around.push_back(each);
  }
  for (kb::OverOp each : llvm::reverse(around)) {
    code.open("for (int " + each.getName() + " = 0; " + each.getName() + " < " +
              text.expression(each.getExtent()) + "; ++" + each.getName() + ")");
    for (Operation &op : llvm::drop_end(each.getBody().front()))
      StatementPrinter{text, code}.print(&op);
  }
  std::map<std::string, std::string> partial;
  for (kb::ReduceOp reduce : reductionsOf(top))
    partial[reduce.getName().str()] =
        reduce.getName().str() + (shape.vector > 1 ? "[" + shape.element + "]" : "");
  std::vector<Stream> streams = streamsOf(text, body, dim, shape, {}, needs);
  // The step must not carry the row past the largest int.
  if (kb::ExprAttr largest = largestExtent(nest, over.getExtent());
      largest && !largest.getConstant())
    if (std::string host = text.hostExpression(largest); !host.empty())
      needs.expression(host + " <= 0x40000000");
  if (inflight > 1)
    code.unroll(inflight);
  code.open("for (int " + row + " = threadIdx.y; " + row + " < " +
            text.expression(over.getExtent()) + "; " + row + " += " + shape.lanes + ")");
  printTurn(text, code, body, dim, shape.vector > 1 ? shape.first : dim, shape, streams, partial);
  code.close();
  for (size_t i = 0; i < around.size(); ++i)
    code.close();
}

void ColumnsPrinter::loop(kb::OverOp top) {
  SmallVector<kb::ReduceOp> reductions = reductionsOf(top);
  bool stores = false;
  top.walk([&](kb::StoreOp) { stores = true; });
  // All threads of a column start from the neutral element and add the value before the loop at the
  // end.
  std::map<std::string, std::string> before;
  for (kb::ReduceOp reduce : reductions) {
    auto let = dyn_cast_or_null<kb::LetOp>(top->getPrevNode());
    for (; let && let.getName() != reduce.getName();)
      let = dyn_cast_or_null<kb::LetOp>(let->getPrevNode());
    if (isIdempotent(reduce) || (let && isNeutral(reduce, let.getText())))
      continue;
    std::string kept = text.freshName("initial");
    before[reduce.getName().str()] = kept;
    StringRef variable = reduce.getName();
    if (shape.vector > 1)
      code.line(typeOf(reduce) + " " + kept + "[" + shape.width + "];");
    std::string element = shape.vector > 1 ? "[" + shape.element + "]" : "";
    perColumn([&](CodeLines &to) {
      to.line((shape.vector > 1 ? "" : "const " + typeOf(reduce) + " ") + kept + element + " = " +
              variable + element + ";");
      to.line(variable + element + " = " + reduce.getIdentity() + ";");
    });
  }
  bool isGuarded = stores || columnGuard(nest);
  if (isGuarded)
    code.open("if (" + inside + ")");
  sharedBody(top, sharedLoop(top));
  if (isGuarded)
    code.close();
  for (kb::ReduceOp reduce : reductions) {
    std::string type = typeOf(reduce), function = helper(reduce, type);
    reassociates |= !isIdempotent(reduce) && !isIntegerType(type);
    perColumn([&](CodeLines &to) {
      std::string variable =
          reduce.getName().str() + (shape.vector > 1 ? "[" + shape.element + "]" : "");
      to.line(variable + " = " + function + "(" + variable + ");");
      if (auto kept = before.find(reduce.getName().str()); kept != before.end())
        StatementPrinter{text, to}.combine(
            reduce, variable, kept->second + (shape.vector > 1 ? "[" + shape.element + "]" : ""));
    });
  }
}

void ColumnsPrinter::printPoint() {
  SmallVector<Operation *> stored;
  auto flush = [&] {
    flushScalars();
    if (!stored.empty())
      stores(stored);
    stored.clear();
  };
  for (Operation &op : columnBody(nest)) {
    if (auto over = dyn_cast<kb::OverOp>(op)) {
      flush();
      loop(over);
      continue;
    }
    bool hasStore = false;
    op.walk([&](kb::StoreOp) { hasStore = true; });
    if (hasStore) {
      flushScalars();
      stored.push_back(&op);
      continue;
    }
    if (!stored.empty())
      flush();
    pending.push_back(&op);
  }
  flush();
}

llvm::Expected<GeneratedKernel> ColumnsPrinter::run() {
  if (std::string reason = whyNotColumns(nest); !reason.empty())
    return llvm::createStringError(reason);
  size_t position = llvm::find(box.names, dim) - box.names.begin();
  std::rotate(box.names.begin() + position, box.names.begin() + position + 1, box.names.end());
  std::rotate(box.extents.begin() + position, box.extents.begin() + position + 1,
              box.extents.end());
  if (std::string reason = requireInts(text, needs); !reason.empty())
    return llvm::createStringError(reason);
  if (std::string reason = chooseShape(); !reason.empty())
    return llvm::createStringError(reason);
  std::string columnsName = text.freshName("columns"), column = text.freshName("column");
  shape.lanes = text.freshName("parts");
  shape.width = text.freshName("width");
  shape.first = text.freshName("first");
  shape.element = text.freshName("e");
  shape.isSingle = true;
  std::string all = text.intExpression(box.extents.back());
  std::string allColumns = CudaText::isAtom(all) ? all : "(" + all + ")";
  inside = column + (shape.vector > 1 ? " * " + shape.width : "") + " < " + all;
  if (kb::WhenOp guard = columnGuard(nest))
    inside += " && " + text.condition(*guard.getDomain());
  Box(box).count(text, needs);
  printPoint();
  std::string body = code.take();
  if (known.size() > 2)
    return llvm::createStringError("it would need more than two helper functions");

  CodeLines start(1);
  std::string constants = columnsName + " = " + std::to_string(columns) + ", " + shape.lanes +
                          " = " + std::to_string(threads / columns);
  if (shape.vector > 1)
    constants += ", " + shape.width + " = " + std::to_string(shape.vector);
  start.line("constexpr int " + constants + ";");
  start.line("const int " + column + " = blockIdx.x * " + columnsName + " + threadIdx.x;");
  // Threads beyond the last column repeat it, so that all of them reach the barriers.
  if (shape.vector > 1)
    start.line("const int " + shape.first + " = min(" + column + " * " + shape.width + ", " + all +
               " - " + shape.width + ");");
  else
    start.line("const int " + dim + " = min(" + column + ", " + all + " - 1);");
  Box others = box;
  others.names.pop_back();
  others.extents.pop_back();
  GeneratedKernel kernel;
  if (others.size() == 1) {
    start.line("const int " + others.names.front() + " = blockIdx.y;");
  } else if (others.size() > 1) {
    std::string rest = text.freshName("rest");
    start.line("const int " + rest + " = blockIdx.y;");
    others.declare(text, start, rest, others.names.back(),
                   [&](StringRef each) { return mentions(body, each); });
  }
  if (others.size() > 0) {
    Needs ignored;
    kernel.gridY = others.count(text, ignored);
    needs.expression(kernel.gridY + " <= 65535");
  }
  llvm::StringSet<> unaliased = keepApart(text, needs);
  std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
  kernel.name = name;
  kernel.definition = helpers +
                      "// Neighbouring lanes take neighbouring columns, so that a warp reads whole "
                      "sectors; the other threads of the\n"
                      "// block share the rows.\n" +
                      header + "__global__ void __launch_bounds__(" + std::to_string(threads) +
                      ") " + name + "(" + text.parameters(unaliased) + ") {\n" + start.take() +
                      body + "}\n";
  kernel.extraParameters = text.extraParameters();
  std::string host = text.hostExpression(box.extents.back()),
              covered = std::to_string(columns * shape.vector);
  kernel.gridX = "(" + (CudaText::isAtom(host) ? host : "(" + host + ")") + " + " +
                 std::to_string(columns * shape.vector - 1) + ") / " + covered;
  kernel.blockX = std::to_string(columns);
  kernel.blockY = std::to_string(threads / columns);
  kernel.conditions = needs.conditions;
  kernel.reassociates = reassociates;
  kernel.estimatedRegisters = 24 + 2 * shape.vector * inflight;
  kernel.sharedBytes = shared;
  kernel.threads = threads;
  return kernel;
}

class ColumnsSketch : public Sketch {
public:
  StringRef name() const override { return "columns"; }
  std::string whyNot(kb::NestOp nest) const override { return whyNotColumns(nest); }
  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &freedom) const override;
  /// Wide columns leave few blocks where there are few columns.
  std::optional<Schedule> otherwise(kb::NestOp, const ChipInfo &,
                                    const Schedule &schedule) const override {
    Schedule narrow = schedule;
    if (schedule.integer("vector", 1) == 1)
      return std::nullopt;
    return narrow.set("columns", 8)
        .set("vector", 1)
        .set("inflight", 8)
        .set("otherwise", int64_t(0));
  }
  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &chip) const override {
    auto kernel = ColumnsPrinter(nest, name).run();
    if (kernel) // most of the chip has a block
      kernel->preferences.push_back(kernel->gridX +
                                    " >= " + std::to_string(int64_t(chip.smCount) / 2));
    return kernel;
  }
};

/// The longest reduction of \p nest at \p sizes; none if that is not known.
std::optional<int64_t> lengthAt(kb::NestOp nest, const LaunchSizes &sizes) {
  int64_t longest = 0;
  for (auto over : columnBody(nest).getOps<kb::OverOp>()) {
    if (reductionsOf(over).empty())
      continue;
    auto length = valueAt(over.getExtent(), sizes);
    if (!length)
      return std::nullopt;
    longest = std::max(longest, *length);
  }
  return longest;
}

/// Measured on an H200: blocks of 1024 threads; as many columns a block as still leave about 0.7
/// blocks an SM; eight loads in flight, four of 16 bytes. Where a column is so short that its share
/// of a block's threads have fewer elements than that each, most of the block waits for the rest:
/// then blocks are smaller or wider.
std::vector<Schedule> ColumnsSketch::schedules(kb::NestOp nest, const ChipInfo &chip,
                                               const LaunchSizes &sizes,
                                               const Freedom &freedom) const {
  for (auto over : columnBody(nest).getOps<kb::OverOp>())
    for (kb::ReduceOp reduce : reductionsOf(over))
      if (!freedom.reassociate && !isIdempotent(reduce) &&
          !isIntegerType(declarationOf(nest, reduce.getName()).getType()))
        return {};
  Box box(nest);
  auto count =
      valueAt(box.extents[llvm::find(box.names, columnDim(nest)) - box.names.begin()], sizes);
  double all = count.value_or(4096), perColumn = 1;
  for (auto [name, extent] : llvm::zip(box.names, box.extents))
    if (name != columnDim(nest))
      perColumn *= double(std::max<int64_t>(1, valueAt(extent, sizes).value_or(1)));
  std::optional<int64_t> length = lengthAt(nest, sizes);
  std::vector<std::pair<double, Schedule>> ranked;
  int64_t widest = columnVector(nest, sizes);
  for (int64_t vector = widest; vector >= 1; vector /= 2)
    for (int64_t columns : {8, 4, 16, 32})
      for (int64_t threads : {1024, 512, 256}) {
        int64_t inflight = vector > 2 ? 4 : 8;
        double blocks = std::ceil(all / (columns * vector)) * perColumn,
               wanted = 0.7 * chip.smCount * 1024 / threads;
        double cost = blocks < wanted ? wanted / blocks : 1 + 0.02 * std::log2(blocks / wanted);
        cost *= vector < widest ? 1.05 : 1;
        cost *= columns * vector < 8 ? 2 : 1; // less than a sector of floats
        cost *= threads == 1024 ? 1 : 1.03;
        if (length)
          cost *= std::max(1.0, double(threads / columns * inflight) /
                                    double(std::max<int64_t>(1, *length)));
        cost *= 1 + 0.01 * std::abs(std::log2(columns / 8.0));
        Schedule schedule("columns");
        schedule.set("columns", columns)
            .set("vector", vector)
            .set("block", threads)
            .set("inflight", inflight);
        schedule.set("otherwise", !count && vector > 1);
        ranked.push_back({cost, schedule});
      }
  llvm::stable_sort(ranked, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Schedule> best;
  for (auto &[cost, schedule] : ranked)
    if (best.size() < 12)
      best.push_back(schedule);
  return best;
}

} // namespace

const Sketch &kbopt::columnsSketch() {
  static const ColumnsSketch sketch;
  return sketch;
}
