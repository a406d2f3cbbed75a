//===- Reuse.cpp - A tile of elements that all points read ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `reuse`: points that all read the same elements in a loop (bodies that attract
// each other, neighbours that are searched for). A block loads a tile of them into shared memory,
// and each thread uses it for one or several points:
//
//   for (int j0 = 0; j0 < n; j0 += tile) {
//     const int terms = min(tile, n - j0);
//     for (int e = threadIdx.x; e < terms; e += threads)
//       poses[e] = pos[j0 + e];
//     __syncthreads();
//     for (int e = 0; e < terms; ++e)
//       sum += force(p, poses[e]);
//     __syncthreads();
//   }
//
// A point sums its terms in their order: every bit stays.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Bounds.h"
#include "Contraction.h"
#include "ReuseNest.h"
#include "Sketches.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// What a thread may keep in shared memory without asking the driver for more.
constexpr int64_t staticSharedBytes = 48 * 1024;

/// Statements at the top of a nest up to a loop with tiles, or that loop.
struct Segment {
  SmallVector<Operation *> ops;
  const ReuseLoop *loop = nullptr;
  bool isGuarded = false; ///< only real points may run it
};

class ReusePrinter {
public:
  ReusePrinter(kb::NestOp nest, StringRef name)
      : nest(nest), reuse(nest), schedule(nest.getScheduleAttr()), text(nest), name(name.str()) {}

  llvm::Expected<GeneratedKernel> run() {
    for (auto step : {&ReusePrinter::chooseShape, &ReusePrinter::require,
                      &ReusePrinter::findSegments, &ReusePrinter::findShared})
      if (std::string reason = (this->*step)(); !reason.empty())
        return llvm::createStringError(reason);
    nameThings();
    CodeLines code(1);
    for (Segment &segment : segments)
      segment.loop ? printTiles(code, segment) : printPoints(code, segment);
    std::string body = code.take();
    CodeLines start(1);
    printStart(start, body);
    return finish(start.take() + body);
  }

private:
  kb::NestOp nest;
  ReuseNest reuse;
  Schedule schedule;
  CudaText text;
  std::string name;
  Needs needs;
  int64_t block = 0, terms = 0, count = 1;
  std::vector<Segment> segments;
  SmallVector<kb::LetOp> shared; ///< scalars of a point that several segments use
  std::map<std::string, std::string> partial;
  std::string threads, tile, countName, point, turn, total, inTile, element;
  llvm::StringSet<> unaliased;

  std::string chooseShape() {
    if (std::string reason = reuse.whyNot(); !reason.empty())
      return reason;
    block = schedule.integer("block", 256), terms = schedule.integer("bk", 128),
    count = schedule.integer("inflight", 1);
    if (!llvm::isPowerOf2_64(block) || block < 32 || block > 1024)
      return "the key 'block' must be a power of two from 32 to 1024";
    if (!llvm::isPowerOf2_64(terms) || terms < 8 || terms > 1024)
      return "the key 'bk' must be a power of two from 8 to 1024";
    if (!llvm::isPowerOf2_64(count) || count > 8)
      return "the key 'inflight' must be 1, 2, 4 or 8";
    if (reuse.sharedBytes(terms) > staticSharedBytes)
      return "tiles of " + std::to_string(terms) + " iterations need " +
             std::to_string(reuse.sharedBytes(terms)) + " bytes of shared memory";
    return "";
  }

  std::string require() {
    if (std::string reason = requireInts(text, needs); !reason.empty())
      return reason;
    for (const std::string &condition : reuse.conditions)
      needs.expression(condition);
    unaliased = keepApart(text, needs);
    return "";
  }

  std::string findSegments() {
    std::set<StringRef> stored;
    nest.walk([&](kb::StoreOp store) { stored.insert(store.getTarget().getBase().getName()); });
    auto mustBeReal = [&](Operation *top) {
      bool must = false;
      top->walk([&](Operation *op) {
        must |= isa<kb::StoreOp>(op);
        for (kb::OperandAttr load : loadsOf(op))
          must |= stored.count(load.getBase().getName()) > 0;
      });
      return must;
    };
    for (Operation &op : nest.getBody().front()) {
      const ReuseLoop *loop = reuse.find(&op);
      bool isGuarded = mustBeReal(&op);
      if (loop || segments.empty() || segments.back().loop ||
          (isGuarded && !segments.back().isGuarded))
        segments.push_back({{}, loop, isGuarded});
      segments.back().ops.push_back(&op);
    }
    return "";
  }

  /// Finds the scalars that outlive their segment.
  std::string findShared() {
    for (auto [index, segment] : llvm::enumerate(segments))
      for (Operation *op : segment.ops) {
        auto let = dyn_cast<kb::LetOp>(op);
        if (!let || let.getReassigns())
          continue;
        bool isUsed = false;
        for (auto [other, later] : llvm::enumerate(segments))
          for (Operation *user : later.ops)
            isUsed |= other != index && uses(user, let.getName());
        if (!isUsed || (count == 1 && !segment.isGuarded))
          continue;
        StringRef type = let.getType();
        if (type.contains('&') || type.contains("auto") ||
            (type.contains('[') && !let.getText().empty()))
          return "'" + let.getName().str() + "' cannot be declared before it has a value";
        shared.push_back(let);
      }
    return "";
  }

  static bool uses(Operation *op, StringRef scalar) {
    bool found = mentions(op, scalar);
    op->walk([&](kb::ReduceOp reduce) {
      collectIdentifiers(reduce.getName(), [&](StringRef word) { found |= word == scalar; });
    });
    return found;
  }

  void nameThings() {
    threads = text.freshName("threads"), tile = text.freshName("tile"),
    countName = text.freshName("count"), point = text.freshName("point"),
    turn = text.freshName("r"), inTile = text.freshName("terms"), element = text.freshName("e");
    total = reuse.sharing.total(text);
    if (count == 1)
      return;
    for (kb::LetOp let : shared) {
      std::string each = let.getName().str() + "[" + turn + "]";
      text.setScalar(let.getName(), each);
      partial[let.getName().str()] = each;
    }
  }

  std::string number() const { return count == 1 ? point : point + " + " + turn + " * " + threads; }

  /// Declares those dimensions of the point \p flat that \p body names.
  void declarePoint(CodeLines &code, StringRef flat, StringRef body) {
    const Box &box = reuse.sharing;
    StringRef last = box.names.back();
    if (box.size() == 1) {
      if (mentions(body, last))
        code.line("const int " + last + " = " + flat + ";");
      return;
    }
    std::string whole = text.freshName("whole");
    code.line("const int " + whole + " = " + flat + ";");
    box.declare(text, code, whole, last, [&](StringRef dim) { return mentions(body, dim); });
  }

  /// Prints \p body for each point of the thread. A point past the end is the last one, unless it
  /// \p isGuarded.
  void forPoints(CodeLines &code, bool isGuarded, llvm::function_ref<void(CodeLines &)> body) {
    CodeLines draft;
    body(draft);
    std::string used = draft.take();
    if (count > 1)
      code.unroll().open("for (int " + turn + " = 0; " + turn + " < " + countName + "; ++" + turn +
                         ")");
    if (isGuarded)
      code.open("if (" + number() + " < " + total + ")");
    if (count > 1)
      declarePoint(code, isGuarded ? number() : "min(" + number() + ", " + total + " - 1)", used);
    body(code);
    if (isGuarded)
      code.close();
    if (count > 1)
      code.close();
  }

  void printStatement(StatementPrinter &print, Operation *op) {
    auto let = dyn_cast<kb::LetOp>(op);
    if (!let || !llvm::is_contained(shared, let))
      return print.print(op);
    std::string value = text.fill(let.getText(), let.getOperands());
    if (!value.empty())
      print.code.line(text.fill(let.getName(), let.getOperands()) + " = " + value + ";");
  }

  void printPoints(CodeLines &code, const Segment &segment) {
    for (Operation *op : segment.ops)
      if (auto let = dyn_cast<kb::LetOp>(op); let && llvm::is_contained(shared, let)) {
        auto [type, sizes] = let.getType().split('[');
        type.consume_front("const ");
        code.line(type.str() + " " + let.getName().str() +
                  (count > 1 ? "[" + countName + "]" : "") +
                  (sizes.empty() ? "" : "[" + sizes.str()) + ";");
      }
    forPoints(code, segment.isGuarded, [&](CodeLines &inner) {
      StatementPrinter print{text, inner};
      print.partial = partial;
      for (Operation *op : segment.ops)
        printStatement(print, op);
    });
  }

  void printTiles(CodeLines &code, const Segment &segment) {
    kb::OverOp over = segment.loop->over;
    std::string dim = over.getName().str(), first = text.freshName(dim + "First");
    std::vector<std::string> arrays;
    for (const ReuseTile &each : segment.loop->tiles) {
      arrays.push_back(arrayName(text, each.operands.front()));
      std::string type = each.operands.front().getType().str();
      StringRef(type).consume_front("const ");
      code.line("__shared__ __align__(16) " + type + " " + arrays.back() + "[" + tile +
                (each.width > 1 ? " * " + std::to_string(each.width) : "") + "];");
    }
    std::string extent = text.intExpression(over.getExtent());
    code.open("for (int " + first + " = 0; " + first + " < " + extent + "; " + first +
              " += " + tile + ")");
    code.line("const int " + inTile + " = min(" + tile + ", " + extent + " - " + first + ");");
    for (auto [each, array] : llvm::zip(segment.loop->tiles, arrays))
      printCopy(code, each, array, dim, first);
    code.line("__syncthreads();");
    printTerms(code, segment, arrays, first);
    code.line("__syncthreads();").close();
  }

  void printCopy(CodeLines &code, const ReuseTile &each, StringRef array, StringRef dim,
                 StringRef first) {
    std::string width = widthOf(each), end = inTile, iteration = first.str() + " + " + element,
                above;
    kb::ExprAttr gain = gainAlong(each.lowest, dim);
    bool isDense = each.size ? gain == each.size : strideAlong(each.lowest, dim) == each.width;
    if (each.width > 1)
      end += " * " + width;
    if (isDense) {
      iteration = first.str(), above = " + " + element;
    } else if (each.width > 1) {
      iteration += " / " + width, above = " + " + element + " % " + width;
    }
    code.open("for (int " + element + " = threadIdx.x; " + element + " < " + end + "; " + element +
              " += " + threads + ")");
    text.setName(dim, iteration);
    std::string from = text.elementAt(each.operands.front(), text.offset(each.lowest) + above);
    text.setName(dim, dim);
    code.line(array + "[" + element + "] = " + from + ";").close();
  }

  void printTerms(CodeLines &code, const Segment &segment, ArrayRef<std::string> arrays,
                  StringRef first) {
    kb::OverOp over = segment.loop->over;
    auto replaced = [&](kb::OperandAttr operand) -> std::string {
      for (auto [each, array] : llvm::zip(segment.loop->tiles, arrays))
        for (auto [known, offset] : llvm::zip(each.operands, each.offsets))
          if (known == operand)
            return array + "[" + placeOf(each, offset) + "]";
      return "";
    };
    code.open("for (int " + element + " = 0; " + element + " < " + inTile + "; ++" + element + ")");
    auto isReplaced = [&](kb::OperandAttr operand) { return !replaced(operand).empty(); };
    if (usesDim(over.getBody().front(), over.getName(), isReplaced))
      code.line("const int " + over.getName() + " = " + first + " + " + element + ";");
    forPoints(code, segment.isGuarded, [&](CodeLines &inner) {
      StatementPrinter print{text, inner, replaced};
      print.partial = partial;
      print.print(over.getBody().front());
    });
    code.close();
  }

  /// Elements of an iteration, as a factor.
  std::string widthOf(const ReuseTile &each) {
    std::string width = each.size ? text.intExpression(each.size) : std::to_string(each.width);
    return CudaText::isAtom(width) ? width : "(" + width + ")";
  }

  /// Where the element at \p offset lies in the iteration at hand of the tile.
  std::string placeOf(const ReuseTile &each, kb::ExprAttr offset) {
    if (each.width == 1)
      return element;
    std::string above = text.expression(combined(offset, -1, each.lowest, 0));
    return element + " * " + widthOf(each) + (above == "0" ? "" : " + " + above);
  }

  void printStart(CodeLines &code, StringRef body) {
    std::string constants =
        threads + " = " + std::to_string(block) + ", " + tile + " = " + std::to_string(terms);
    if (count > 1)
      constants += ", " + countName + " = " + std::to_string(count);
    code.line("constexpr int " + constants + ";");
    if (reuse.outer.size() == 1) {
      if (mentions(body, reuse.outer.names.front()))
        code.line("const int " + reuse.outer.names.front() + " = blockIdx.y;");
    } else if (reuse.outer.size() > 1) {
      std::string other = text.freshName("other");
      code.line("const int " + other + " = blockIdx.y;");
      reuse.outer.declare(text, code, other, reuse.outer.names.back(),
                          [&](StringRef dim) { return mentions(body, dim); });
    }
    code.line("const int " + point + " = blockIdx.x * " + threads +
              (count > 1 ? " * " + countName : "") + " + threadIdx.x;");
    if (count == 1)
      declarePoint(code, "min(" + point + ", " + total + " - 1)", body);
  }

  GeneratedKernel finish(const std::string &body) {
    GeneratedKernel kernel;
    kernel.name = name;
    std::string points = reuse.sharing.count(text, needs);
    int64_t each = block * count;
    kernel.gridX = "(" + std::string(CudaText::isAtom(points) ? points : "(" + points + ")") +
                   " + " + std::to_string(each - 1) + ") / " + std::to_string(each);
    if (reuse.outer.size()) {
      kernel.gridY = reuse.outer.count(text, needs);
      needs.expression(kernel.gridY + " <= 65535");
    }
    kernel.blockX = std::to_string(block);
    std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
    std::string comment = "// All points of a block read the same elements in a loop. A tile of "
                          "them waits in shared memory";
    if (count > 1)
      comment += ", and a thread\n// uses each one for " + std::to_string(count) + " points";
    kernel.definition = comment + ".\n" + header + "__global__ void __launch_bounds__(" +
                        std::to_string(block) + ") " + name + "(" + text.parameters(unaliased) +
                        ") {\n" + body + "}\n";
    kernel.extraParameters = text.extraParameters();
    kernel.conditions = needs.conditions;
    kernel.estimatedRegisters = 24 + count * (4 + 2 * shared.size());
    kernel.sharedBytes = reuse.sharedBytes(terms);
    kernel.threads = block;
    return kernel;
  }
};

class ReuseSketch : public Sketch {
public:
  StringRef name() const override { return "reuse"; }

  std::string whyNot(kb::NestOp nest) const override { return ReuseNest(nest).whyNot(); }

  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &) const override {
    std::vector<Schedule> all;
    ReuseNest reuse(nest);
    std::optional<int64_t> points = 1;
    for (const Box *box : {&reuse.sharing, &reuse.outer})
      for (kb::ExprAttr extent : box->extents) {
        auto size = valueAt(extent, sizes);
        int64_t product = 0;
        points = points && size && !llvm::MulOverflow(*points, *size, product)
                     ? std::optional(product)
                     : std::nullopt;
      }
    auto add = [&](int64_t block, int64_t terms, int64_t count) {
      while (terms > 8 && reuse.sharedBytes(terms) > staticSharedBytes / 2)
        terms /= 2;
      // Every multiprocessor has a block, where so many points are known.
      if (reuse.sharedBytes(terms) > staticSharedBytes ||
          (count > 1 && points && *points < int64_t(block * count * chip.smCount)))
        return;
      Schedule schedule("reuse");
      schedule.set("bk", terms).set("block", block).set("inflight", count);
      if (!llvm::is_contained(all, schedule))
        all.push_back(schedule);
    };
    bool isFew = points && *points < int64_t(256 * chip.smCount);
    if (isFew)
      for (int64_t block : {128, 64, 32})
        add(block, 128, 1);
    // On an H200, blocks of 128 won by 7 % up to 16384 bodies, and blocks of 256 from 65536 on.
    if (points && *points >= int64_t(256 * chip.smCount)) {
      add(256, 256, 1);
      add(128, 128, 2);
    }
    add(128, 128, 1);
    add(256, 256, 1);
    add(256, 256, 2);
    add(128, 128, 4);
    add(128, 128, 2);
    add(512, 512, 1);
    add(64, 64, 1);
    return all;
  }

  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &) const override {
    return ReusePrinter(nest, name).run();
  }
};

} // namespace

const Sketch &kbopt::reuseSketch() {
  static const ReuseSketch sketch;
  return sketch;
}
