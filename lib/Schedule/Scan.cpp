//===- Scan.cpp - Prefix sums of rows --------------------------------------===//
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
#include "Accesses.h"
#include "Bounds.h"
#include "RowsNest.h"
#include "ScanNest.h"
#include "Sketches.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// Elements that a thread moves at once and holds meanwhile.
struct HeldElements {
  std::string key, array;
  kb::OperandAttr operand; ///< in the names of the loop that it stands in
  StringRef dim;           ///< of that loop
  bool loads = false, stores = false;
  bool isMirrored = false; ///< the elements lie in falling order
};

class ScanPrinter {
public:
  ScanPrinter(kb::NestOp nest, StringRef name)
      : nest(nest), scan(nest), schedule(nest.getScheduleAttr()), text(nest), name(name.str()) {}

  llvm::Expected<GeneratedKernel> run() {
    for (auto step : {&ScanPrinter::chooseShape, &ScanPrinter::require, &ScanPrinter::findHeld})
      if (std::string reason = (this->*step)(); !reason.empty())
        return llvm::createStringError(reason);
    nameThings();
    CodeLines code(1);
    printRow(code);
    return finish(code.take());
  }

private:
  kb::NestOp nest;
  ScanNest scan;
  Schedule schedule;
  CudaText text;
  std::string name;
  Needs needs;
  int64_t team = 0, width = 1, rows = 1;
  std::vector<HeldElements> held;
  std::string lanes, widthName, rowsName, row, tile, first, element, extent, helpers;
  struct Names {
    std::string own, upTo; ///< of the thread's elements; of what is before an element
  };
  std::vector<Names> values; ///< of the carried ones, in their order
  llvm::StringSet<> unaliased;

  bool isWarp() const { return team == 32; }

  std::string chooseShape() {
    if (std::string reason = scan.whyNot(); !reason.empty())
      return reason;
    team = schedule.integer("team", 256), width = schedule.integer("vector", 4),
    rows = schedule.integer("rows", 1);
    if (!llvm::isPowerOf2_64(team) || team < 32 || team > 1024)
      return "the key 'team' must be a power of two from 32 to 1024";
    if (!llvm::isPowerOf2_64(width) || width > 16)
      return "the key 'vector' must be a power of two up to 16";
    if (!llvm::isPowerOf2_64(rows) || rows > 32 || (rows > 1 && !isWarp()))
      return "the key 'rows' must be a power of two up to 32, and 1 where a block takes a row";
    return "";
  }

  std::string require() {
    if (std::string reason = requireInts(text, needs); !reason.empty())
      return reason;
    auto conditions = multipleConditions(nest, scan.extent, "", width);
    if (width > 1 && !conditions)
      return "the extent of '" + scan.dim.str() + "' is not known to be a multiple of anything";
    if (width > 1)
      for (const std::string &condition : *conditions)
        needs.expression(condition);
    if (auto constant = scan.extent.getConstant(); constant && *constant % width)
      return "the extent of '" + scan.dim.str() + "' is not a multiple of " + std::to_string(width);
    // The step must not carry a tile past the largest int.
    kb::ExprAttr largest = largestExtent(nest, scan.extent);
    std::string host = largest ? text.hostExpression(largest) : "";
    if (host.empty())
      return "the host does not know the extent of '" + scan.dim.str() + "'";
    if (!largest.getConstant())
      needs.expression(host + " <= 0x40000000");
    unaliased = keepApart(text, needs);
    return "";
  }

  //===-- Vectors ---------------------------------------------------------===//

  /// Whether elements at \p operand fall as \p dim grows, and vectors of them begin at multiples.
  bool isFalling(kb::OperandAttr operand, StringRef dim) {
    kb::BaseAttr base = operand.getBase();
    int64_t bytes = width * operand.getBytes();
    if (strideAlong(operand.getOffset(), dim) != -1 || base.getKind() != kb::BaseKind::Argument ||
        base.getByteOffset() != 0 || usesNameOf(operand.getOffset(), *scan.block, &text) ||
        !llvm::isPowerOf2_64(bytes) || bytes > 64)
      return false;
    auto conditions = multipleConditions(
        nest, combined(operand.getOffset(), 0, operand.getOffset(), 1), dim, width);
    if (!conditions)
      return false;
    for (const std::string &condition : *conditions)
      needs.expression(condition);
    needs.aligned(base, std::min<int64_t>(bytes, 16));
    return true;
  }

  void hold(Operation *op, kb::OperandAttr operand, bool isStore) {
    if (operand.getKind() != kb::OperandKind::Element)
      return;
    StringRef dim = scan.grows.contains(op->getParentOp()) ? scan.termDim : scan.dim;
    std::string key = elementKey(text, operand, dim);
    for (HeldElements &each : held)
      if (each.key == key) {
        each.loads |= !isStore && !each.stores;
        each.stores |= isStore;
        return;
      }
    bool falls = isFalling(operand, dim);
    if (!falls && !isVector(text, operand, *op->getBlock(), dim, width, &needs))
      return;
    held.push_back({key, arrayName(text, operand), operand, dim, !isStore, isStore, falls});
  }

  std::string findHeld() {
    if (width == 1 || scan.guard) // a vector may hold elements that are left out
      return "";
    auto look = [&](Operation *op) {
      for (kb::OperandAttr load : loadsOf(op))
        if (!isReadUnderCondition(op, load))
          hold(op, load, false);
      if (auto store = dyn_cast<kb::StoreOp>(op))
        hold(op, store.getTarget(), true);
    };
    for (Operation *op : scan.body) {
      if (auto over = dyn_cast<kb::OverOp>(op)) {
        if (!scan.isExclusiveSum) // which has no term for the last element
          for (Operation &inner : over.getBody().front())
            look(&inner);
      } else {
        look(op);
      }
    }
    return "";
  }

  /// `xs[e]`, or nothing for what no array holds.
  std::string heldText(kb::OperandAttr operand, StringRef dim) {
    if (operand.getKind() != kb::OperandKind::Element)
      return "";
    std::string key = elementKey(text, operand, dim);
    for (const HeldElements &each : held)
      if (each.key == key)
        return each.array + "[" + (each.isMirrored ? widthName + " - 1 - " : "") + element + "]";
    return "";
  }

  /// Moves the elements of \p each from memory, or to it.
  void move(CodeLines &code, const HeldElements &each, bool isLoad) {
    std::string at = each.isMirrored ? first + " + " + widthName + " - 1" : first;
    text.setName(each.dim, at);
    printVector(code, each.operand, width, each.array, text.operand(each.operand), isLoad);
    text.setName(each.dim, each.dim);
  }

  //===-- The kernel ------------------------------------------------------===//

  void nameThings() {
    lanes = text.freshName("lanes"), widthName = text.freshName("width"),
    rowsName = text.freshName("rows"), tile = text.freshName("tile"),
    first = width > 1 ? text.freshName("first") : scan.dim.str(), element = text.freshName("e"),
    row = text.freshName("row");
    for (const CarriedValue &each : scan.carried) {
      std::string word = scan.carried.size() > 1 ? "Of" + each.name : "";
      values.push_back({text.freshName("own" + word), text.freshName("upTo" + word)});
    }
  }

  static std::string combine(const CarriedValue &value, StringRef a, StringRef b) {
    return CudaText::combine(value.combine, a, b);
  }

  void printRow(CodeLines &code) {
    CodeLines inner(1);
    StatementPrinter statements{text, inner};
    for (Operation *op : scan.before)
      statements.print(op);
    printTiles(inner);
    printAfter(inner);
    std::string body = inner.take();
    std::string constants = lanes + " = " + std::to_string(team);
    if (rows > 1)
      constants += ", " + rowsName + " = " + std::to_string(rows);
    if (width > 1)
      constants += ", " + widthName + " = " + std::to_string(width);
    code.line("constexpr int " + constants + ";");
    declareRow(code, body);
    text.setName(scan.dim, scan.dim);
    printed = body;
  }

  void declareRow(CodeLines &code, StringRef body) {
    const Box &box = scan.rows;
    if (!box.size())
      return;
    std::string number = rows > 1 ? "blockIdx.x * " + rowsName + " + threadIdx.y" : "blockIdx.x";
    std::string flat = box.size() == 1 ? box.names.back().str() : row;
    if (rows > 1 || mentions(body, flat) || box.size() > 1)
      code.line("const int " + flat + " = " + number + ";");
    if (rows > 1)
      code.line("if (" + flat + " >= " + box.total(text) + ")").indent().line("return;").outdent();
    if (box.size() > 1)
      box.declare(text, code, flat, box.names.back(),
                  [&](StringRef dim) { return mentions(body, dim); });
  }

  void printTiles(CodeLines &code) {
    extent = text.intExpression(scan.extent);
    std::string step = lanes + (width > 1 ? " * " + widthName : ""),
                lane = "threadIdx.x" + std::string(width > 1 ? " * " + widthName : "");
    code.open("for (int " + tile + " = 0; " + tile + " < " + extent + "; " + tile + " += " + step +
              ")");
    code.line("const int " + first + " = " + tile + " + " + lane + ";");
    for (auto [value, names] : llvm::zip(scan.carried, values))
      code.line(value.type + " " + names.own + " = " + value.identity + ";");
    for (const HeldElements &each : held)
      code.line("alignas(16) " + typeOf(each) + " " + each.array + "[" + widthName + "];");
    code.open("if (" + first + " < " + extent + ")");
    for (const HeldElements &each : held)
      if (each.loads)
        move(code, each, true);
    printElements(code, true);
    code.close();
    printBefore(code);
    code.open("if (" + first + " < " + extent + ")");
    printElements(code, false);
    for (const HeldElements &each : held)
      if (each.stores)
        move(code, each, false);
    code.close();
    for (auto [value, names] : llvm::zip(scan.carried, values))
      code.line(value.name + " = " + combine(value, value.name, names.own) + ";");
    code.close();
  }

  static std::string typeOf(const HeldElements &each) {
    StringRef type = each.operand.getType();
    type.consume_front("const ");
    return type.str();
  }

  /// What the elements of a thread do: their terms alone, or all.
  void printElements(CodeLines &code, bool areTerms) {
    for (auto [value, names] : llvm::zip(scan.carried, values))
      text.setScalar(value.name, areTerms ? names.own : names.upTo);
    CodeLines draft(0);
    printElement(draft, areTerms);
    std::string used = draft.take();
    if (width > 1) {
      code.unroll().open("for (int " + element + " = 0; " + element + " < " + widthName + "; ++" +
                         element + ")");
      if (mentions(used, scan.dim) || scan.guard)
        code.line("const int " + scan.dim + " = " + first + " + " + element + ";");
    }
    if (scan.guard)
      code.open("if (" + text.condition(scan.guard) + ")");
    printElement(code, areTerms);
    if (scan.guard)
      code.close();
    if (width > 1)
      code.close();
    for (const CarriedValue &value : scan.carried)
      text.setScalar(value.name, value.name);
  }

  void printElement(CodeLines &code, bool areTerms) {
    StatementPrinter statements{
        text, code, [&](kb::OperandAttr operand) { return heldText(operand, scan.dim); }};
    Operation *last = nullptr; // the sum that follows the element
    for (Operation *op : scan.body) {
      if (areTerms && !scan.needed.contains(op))
        continue;
      if (!isa<kb::OverOp>(op))
        statements.print(op);
      else if (scan.isExclusiveSum)
        last = op;
      else
        printTerms(code, cast<kb::OverOp>(op), areTerms);
    }
    if (!last)
      return;
    std::string next = scan.dim.str() + " + 1", condition = next + " < " + extent;
    if (scan.guard) {
      text.setName(scan.dim, "(" + next + ")");
      condition += " && " + text.condition(scan.guard);
      text.setName(scan.dim, scan.dim);
    }
    code.open("if (" + condition + ")");
    printTerms(code, cast<kb::OverOp>(last), areTerms);
    code.close();
  }

  /// The term of one element in a sum over what comes before.
  void printTerms(CodeLines &code, kb::OverOp over, bool areTerms) {
    StatementPrinter statements{
        text, code, [&](kb::OperandAttr operand) { return heldText(operand, scan.termDim); }};
    for (auto [value, names] : llvm::zip(scan.carried, values))
      statements.partial[value.name] = areTerms ? names.own : names.upTo;
    text.setName(scan.termDim, scan.dim);
    // Its scalars may have the names of those around it.
    bool hasScalars =
        llvm::any_of(over.getBody().front(), [](Operation &op) { return isa<kb::LetOp>(op); });
    if (hasScalars)
      code.open("");
    statements.print(over.getBody().front());
    if (hasScalars)
      code.close();
    text.setName(scan.termDim, scan.termDim);
  }

  //===-- What is before a thread -----------------------------------------===//

  /// Declares what is before the first element of the thread, and gives every thread what the tile
  /// has together.
  void printBefore(CodeLines &code) {
    std::map<std::string, std::string> known; // helper by type and combination
    for (auto [value, names] : llvm::zip(scan.carried, values)) {
      std::string &helper = known[value.type + value.combine];
      if (helper.empty())
        helper = printHelper(value);
      code.line(value.type + " " + names.upTo + " = " +
                combine(value, value.name, helper + "(" + names.own + ")") + ";");
    }
  }

  /// Prints \p variable of each lane, combined with those of the lanes before it, for \p lanes
  /// lanes.
  static void printWarp(CodeLines &code, const CarriedValue &value, StringRef variable,
                        int64_t lanes) {
    code.unroll().open("for (int distance = 1; distance < " + Twine(lanes) + "; distance *= 2)");
    code.line("const " + value.type + " other = __shfl_up_sync(0xffffffff, " + variable +
              ", distance);");
    code.open("if (lane >= distance)");
    code.line(variable + " = " + combine(value, "other", variable) + ";");
    code.close().close();
  }

  std::string printHelper(const CarriedValue &value) {
    std::string helper = text.freshName(name + "_before");
    CodeLines code;
    code.line(std::string("/// What the threads before this one have together. `value` becomes "
                          "that of all threads of the ") +
              (isWarp() ? "warp." : "block."));
    code.open("__device__ " + value.type + " " + helper + "(" + value.type + " &value)");
    if (!isWarp())
      code.line("__shared__ " + value.type + " ofWarp[" + std::to_string(team / 32) + "];");
    code.line(isWarp() ? "const int lane = threadIdx.x;"
                       : "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
    code.line(value.type + " upTo = value;");
    printWarp(code, value, "upTo", 32);
    code.line(value.type + " before = __shfl_up_sync(0xffffffff, upTo, 1);");
    code.open("if (lane == 0)").line("before = " + value.identity + ";").close();
    if (isWarp()) {
      code.line("value = __shfl_sync(0xffffffff, upTo, 31);");
    } else {
      std::string warps = std::to_string(team / 32);
      code.line("__syncthreads(); // an earlier call has been read");
      code.open("if (lane == 31)").line("ofWarp[warp] = upTo;").close();
      code.line("__syncthreads();");
      code.line(value.type + " ofWarps = ofWarp[lane % " + warps + "];");
      printWarp(code, value, "ofWarps", team / 32);
      code.line("value = __shfl_sync(0xffffffff, ofWarps, " + std::to_string(team / 32 - 1) + ");");
      code.line("const " + value.type + " outer = __shfl_sync(0xffffffff, ofWarps, max(warp - 1, " +
                "0));");
      code.open("if (warp > 0)")
          .line("before = " + combine(value, "outer", "before") + ";")
          .close();
    }
    code.line("return before;").close();
    helpers += code.take() + "\n";
    return helper;
  }

  void printAfter(CodeLines &code) {
    if (scan.after.empty())
      return;
    StatementPrinter statements{text, code};
    code.open("if (threadIdx.x == 0)");
    for (Operation *op : scan.after)
      statements.print(op);
    code.close();
  }

  GeneratedKernel finish(const std::string &start) {
    GeneratedKernel kernel;
    kernel.name = name;
    std::string count = scan.rows.count(text, needs);
    if (rows > 1)
      count = "(" + std::string(CudaText::isAtom(count) ? count : "(" + count + ")") + " + " +
              std::to_string(rows - 1) + ") / " + std::to_string(rows);
    kernel.gridX = count;
    kernel.blockX = std::to_string(team);
    kernel.blockY = std::to_string(rows);
    std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
    std::string comment = std::string("// A ") + (isWarp() ? "warp" : "block") +
                          " takes a row, tile by tile. A thread adds what the threads before it "
                          "have to its\n// own elements";
    kernel.definition = helpers + comment + ".\n" + header + "__global__ void __launch_bounds__(" +
                        std::to_string(team * rows) + ") " + name + "(" +
                        text.parameters(unaliased) + ") {\n" + start + printed + "}\n";
    kernel.extraParameters = text.extraParameters();
    kernel.conditions = needs.conditions;
    kernel.reassociates = !scan.isExact();
    kernel.estimatedRegisters = 24 + 2 * width * (1 + held.size());
    kernel.sharedBytes = isWarp() ? 0 : team / 32 * 8 * scan.carried.size();
    kernel.threads = team * rows;
    return kernel;
  }

  std::string printed; ///< the body after its declarations
};

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
    auto add = [&](int64_t team, int64_t vector, int64_t rows) {
      if (scan.guard && vector > 1) // no vectors
        return;
      if (known && *known % vector)
        return;
      // A team with no element for half of its threads is too large.
      if (known && team > 32 && *known * 2 <= team * vector)
        return;
      Schedule schedule("scan");
      schedule.set("team", team).set("vector", vector).set("rows", rows);
      if (!llvm::is_contained(all, schedule))
        all.push_back(schedule);
    };
    bool areMany = count && *count >= int64_t(chip.smCount) * 64;
    bool areFew = count && *count < int64_t(chip.smCount);
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
    return all;
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
