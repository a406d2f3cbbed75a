//===- Scatter.cpp - Atomics of which several become one --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `scatter`: points that combine into elements by atomics, be they named by data
// (bins, segments) or the same for many points (a total). What meets one element is combined first:
// by a thread over several points, by the lanes of a warp, by a block, or in bins of its own.
//
//   int *const target = &h[key[i]];                 |  if (target == pending) sum += value;
//   atomicAdd(target, value);                       |  else { atomicAdd(pending, sum); ... }
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "ScatterNest.h"
#include "Sketches.h"
#include "Statements.h"
#include "llvm/ADT/StringSwitch.h"

using namespace kbopt;
using namespace mlir;

namespace {

constexpr int64_t staticSharedBytes = 48 * 1024;
/// So many bins of a block are filled and added up at little cost.
constexpr int64_t fewBins = 1024;

class ScatterPrinter {
public:
  ScatterPrinter(kb::NestOp nest, StringRef name)
      : nest(nest), scatter(nest), schedule(nest.getScheduleAttr()), text(nest), name(name.str()),
        walked(scatter.box) {}

  llvm::Expected<GeneratedKernel> run(const ChipInfo &chip) {
    for (auto step : {&ScatterPrinter::chooseShape, &ScatterPrinter::require})
      if (std::string reason = (this->*step)(); !reason.empty())
        return llvm::createStringError(reason);
    if (combines("match") && chip.computeMajor < 8)
      return llvm::createStringError("combining lanes by their address needs sm_80 or later");
    nameThings();
    CodeLines inner(1);
    printWalk(inner);
    std::string body = inner.take();
    CodeLines code(1);
    printStart(code, body);
    printEnd(inner);
    return finish(code.take() + body + inner.take());
  }

private:
  kb::NestOp nest;
  ScatterNest scatter;
  Schedule schedule;
  CudaText text;
  std::string name, how;
  Box walked; ///< points that threads are numbered by
  std::string along, chunkName;
  kb::ExprAttr alongExtent;
  Needs needs;
  int64_t block = 256, count = 1, bins = 0;
  /// Names of one atomic: where it goes to, what it adds, what waits to be added.
  struct Names {
    std::string target, value, to, sum, has, shared;
  };
  std::vector<Names> names;
  std::string threads, countName, firstName, turn, lane, flat;
  llvm::StringSet<> unaliased;

  bool combines(StringRef word) const { return how == word; }
  /// All lanes of a warp come to the end of a turn.
  bool isConverged() const { return combines("runs") || combines("match"); }
  bool isFlat() const { return along.empty(); }

  std::string chooseShape() {
    if (std::string reason = scatter.whyNot(); !reason.empty())
      return reason;
    block = schedule.integer("block", 256), count = schedule.integer("inflight", 1),
    how = schedule.string("combine").str(), along = schedule.string("along").str(),
    bins = schedule.integer("bins", 0);
    if (along == "none")
      along.clear();
    if (!llvm::isPowerOf2_64(block) || block < 32 || block > 1024)
      return "the key 'block' must be a power of two from 32 to 1024";
    if (!llvm::isPowerOf2_64(count) || count > 64)
      return "the key 'inflight' must be a power of two up to 64";
    if (!llvm::is_contained({"thread", "block", "runs", "match", "bins"}, StringRef(how)))
      return "the key 'combine' must be 'thread', 'block', 'runs', 'match' or 'bins'";
    if (!isFlat() && !llvm::is_contained(scatter.box.names, along))
      return "the key 'along' must be 'none' or name one of its dimensions";
    if (!isFlat() && (!combines("thread") || scatter.box.size() == 1))
      return "a thread walks along a dimension only with 'combine=thread', beside another one";
    for (const Scatter &each : scatter.all) {
      if (combines("block") && !each.isFixed)
        return "its points do not all combine into one element";
      if (combines("match") && !each.isMatchable())
        return "lanes find those of their address only for integers of 32 bits";
      if (combines("bins") && each.operation != "Add")
        return "bins of a block are only added to";
    }
    if (combines("bins")) {
      if (bins < 1 || bins > 12288)
        return "the key 'bins' must be from 1 to 12288";
      if (sharedBytes() > staticSharedBytes)
        return "bins of a block need " + std::to_string(sharedBytes()) + " bytes of shared memory";
    }
    return "";
  }

  int64_t sharedBytes() const {
    int64_t bytes = 0;
    for (const Scatter &each : scatter.all)
      bytes += combines("bins")    ? bins * each.bytes()
               : combines("block") ? 32 * (each.bytes() + 1)
                                   : 0;
    return bytes;
  }

  std::string require() {
    if (std::string reason = requireInts(text, needs); !reason.empty())
      return reason;
    unaliased = keepApart(text, needs);
    return "";
  }

  void nameThings() {
    threads = text.freshName("threads"), countName = text.freshName("count"),
    firstName = text.freshName("first"), turn = text.freshName("r");
    if (isConverged() || combines("block"))
      lane = text.freshName("lane");
    for (const Scatter &each : scatter.all) {
      std::string base = each.name();
      Names all;
      all.target = text.freshName("target"), all.value = text.freshName("value");
      all.to = text.freshName(base + "To"), all.sum = text.freshName(base + "Sum");
      if (combines("bins"))
        all.shared = text.freshName(base + "Bins");
      if (keepsFixed(each))
        all.has = text.freshName(base + "Any");
      names.push_back(all);
    }
    // Lanes run along the dimension of neighbouring elements.
    size_t last = scatter.lanes(along);
    std::rotate(walked.names.begin() + last, walked.names.begin() + last + 1, walked.names.end());
    std::rotate(walked.extents.begin() + last, walked.extents.begin() + last + 1,
                walked.extents.end());
    if (isFlat())
      return;
    size_t at = llvm::find(walked.names, along) - walked.names.begin();
    alongExtent = walked.extents[at];
    chunkName = text.freshName(along + "Chunk");
    walked.names[at] = chunkName;
    walked.extents[at] = ScatterNest::chunks(alongExtent, count);
  }

  /// Whether the thread's target stays the same in all turns.
  bool keepsFixed(const Scatter &each) const {
    return combines("block") ||
           (combines("thread") && (isFlat() ? each.isFixed : each.isFixedAlong(along)));
  }

  size_t numberOf(kb::StoreOp store) const {
    for (auto [index, each] : llvm::enumerate(scatter.all))
      if (each.store == store)
        return index;
    return scatter.all.size();
  }

  static std::string conditionally(StringRef condition, StringRef a, StringRef b) {
    return (condition + " ? " + a + " : " + b).str();
  }

  /// \p value as an operand of an operator: an element or a name stands as it is.
  static std::string asTerm(const std::string &value) {
    int depth = 0;
    bool isTerm = llvm::all_of(value, [&](char c) {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      return depth > 0 || llvm::isAlnum(c) || c == '_' || c == '.' || c == ']';
    });
    return isTerm ? value : "(" + value + ")";
  }

  /// The statements in place of atomic \p index.
  void printAtomic(CodeLines &code, StatementPrinter &print, size_t index) {
    const Scatter &each = scatter.all[index];
    const Names &own = names[index];
    kb::StoreOp store = each.store;
    std::string value = text.fill(store.getText(), store.getOperands()),
                target = "&" + text.operand(store.getTarget());
    if (isConverged()) {
      code.line(own.target + " = " + target + ";").line(own.value + " = " + value + ";");
      return;
    }
    if (combines("bins")) {
      std::string at = text.freshName("at"), add = store.getAtomic()->str() + "(&" + own.shared +
                                                   "[" + at + "], " + value + ");";
      code.open();
      code.line("const auto " + at + " = " + text.offset(store.getTarget().getOffset()) + ";");
      if (each.bound && *each.bound <= bins) {
        code.line(add);
      } else {
        code.line("if (" + at + " >= 0 && " + at + " < " + std::to_string(bins) + ")");
        code.indent().line(add).outdent();
        code.line("else").indent();
        code.line(store.getAtomic()->str() + "(" + target + ", " + value + ");").outdent();
      }
      code.close();
      return;
    }
    if (keepsFixed(each)) {
      auto loads = loadsOf(store);
      bool isOfType =
          store.getText() == "$0" && loads.size() == 1 && loads.front().getType() == each.type;
      // The atomic converts each value before it combines it.
      if (!isOfType && !llvm::all_of(value, llvm::isDigit))
        value = "(" + each.type + ")" + asTerm(value);
      code.line(own.sum + " = " + conditionally(own.has, each.combined(own.sum, value), value) +
                ";");
      code.line(own.has + " = true;");
      return;
    }
    code.open();
    code.line(each.type + " *const " + own.target + " = " + target + ";");
    code.line("const " + each.type + " " + own.value + " = " + value + ";");
    code.open("if (" + own.target + " == " + own.to + ")");
    code.line(own.sum + " = " + each.combined(own.sum, own.value) + ";");
    code.close();
    code.open("else");
    code.line("if (" + own.to + ")")
        .indent()
        .line(store.getAtomic()->str() + "(" + own.to + ", " + own.sum + ");")
        .outdent();
    code.line(own.to + " = " + own.target + ";").line(own.sum + " = " + own.value + ";");
    code.close().close();
  }

  void printBody(CodeLines &code) {
    StatementPrinter print{text, code};
    print.atomics = [&](kb::StoreOp store) {
      size_t index = numberOf(store);
      if (index == scatter.all.size())
        return false;
      printAtomic(code, print, index);
      return true;
    };
    print.print(nest.getBody().front());
  }

  /// Combines what the lanes of a warp have found in one turn.
  void printLanes(CodeLines &code, size_t index) {
    const Scatter &each = scatter.all[index];
    const Names &own = names[index];
    std::string atomic = each.store.getAtomic()->str();
    code.open();
    if (combines("match")) {
      std::string peers = text.freshName("peers");
      code.line("const unsigned " + peers +
                " = __match_any_sync(0xffffffff, "
                "reinterpret_cast<unsigned long long>(" +
                own.target + "));");
      std::string cast = each.isBits() ? "unsigned" : each.type;
      code.line(
          "const " + each.type + " all = __reduce_" + each.reduceName() + "_sync(" + peers + ", " +
          (cast == each.type ? own.value : "static_cast<" + cast + ">(" + own.value + ")") + ");");
      code.line("if (" + own.target + " && " + lane + " == __ffs(" + peers + ") - 1)")
          .indent()
          .line(atomic + "(" + own.target + ", all);")
          .outdent();
      code.close();
      return;
    }
    std::string before = text.freshName("before"), heads = text.freshName("heads"),
                later = text.freshName("later"), end = text.freshName("end"),
                offset = text.freshName("offset"), other = text.freshName("other");
    code.line("const unsigned long long " + before +
              " = __shfl_up_sync(0xffffffff, reinterpret_cast<unsigned long long>(" + own.target +
              "), 1);");
    code.line("const bool isHead = " + lane + " == 0 || " + before +
              " != reinterpret_cast<unsigned long long>(" + own.target + ");");
    code.line("const unsigned " + heads + " = __ballot_sync(0xffffffff, isHead), " + later + " = " +
              heads + " & ~((2u << " + lane + ") - 1);");
    code.line("const int " + end + " = " + later + " ? __ffs(" + later + ") - 1 : 32;");
    code.unroll().open("for (int " + offset + " = 1; " + offset + " < 32; " + offset + " *= 2)");
    code.line("const " + each.type + " " + other + " = __shfl_down_sync(0xffffffff, " + own.value +
              ", " + offset + ");");
    code.line("if (" + lane + " + " + offset + " < " + end + ")")
        .indent()
        .line(own.value + " = " + each.combined(own.value, other) + ";")
        .outdent();
    code.close();
    code.line("if (isHead && " + own.target + ")")
        .indent()
        .line(atomic + "(" + own.target + ", " + own.value + ");")
        .outdent();
    code.close();
  }

  void printWalk(CodeLines &code) {
    CodeLines draft;
    printBody(draft);
    std::string used = draft.take();
    if (!isFlat()) {
      std::string start = text.freshName(along + "First"), extent = text.intExpression(alongExtent);
      std::string total = walked.total(text);
      code.open("if (" + firstName + " < " + total + ")");
      walked.declare(text, code, firstName, walked.names.back(), [&](StringRef dim) {
        return dim == chunkName || mentions(used, dim) || isInTarget(dim);
      });
      code.line("const int " + start + " = " + chunkName + " * " + countName + ";");
      code.open("for (int " + along + " = " + start + "; " + along + " < min(" + start + " + " +
                countName + ", " + extent + "); ++" + along + ")");
      printBody(code);
      code.close();
      printFlushes(code);
      code.close();
      return;
    }
    std::string total = walked.total(text);
    StringRef last = walked.names.back();
    flat = walked.size() == 1 ? last.str() : text.freshName("point");
    code.open("for (int " + turn + " = 0; " + turn + " < " + countName + "; ++" + turn + ")");
    code.line("const int " + flat + " = " + firstName + " + " + turn + " * " + threads + ";");
    if (isConverged())
      for (auto [each, own] : llvm::zip(scatter.all, names)) {
        code.line(each.type + " *" + own.target + " = nullptr;");
        code.line(each.type + " " + own.value + " = 0;");
      }
    code.open("if (" + flat + " < " + total + ")");
    if (walked.size() > 1)
      walked.declare(text, code, flat, last, [&](StringRef dim) { return mentions(used, dim); });
    printBody(code);
    code.close();
    if (isConverged())
      for (size_t index = 0; index < scatter.all.size(); ++index)
        printLanes(code, index);
    code.close();
    printFlushes(code);
  }

  bool isInTarget(StringRef dim) const {
    return llvm::any_of(scatter.all, [&](const Scatter &each) { return each.uses(dim); });
  }

  /// What a thread has left after its last point.
  void printFlushes(CodeLines &code) {
    if (!combines("thread"))
      return;
    for (auto [index, each] : llvm::enumerate(scatter.all)) {
      const Names &own = names[index];
      bool isFixed = keepsFixed(each);
      std::string target =
          isFixed ? "&" + text.operand(kb::StoreOp(each.store).getTarget()) : own.to;
      code.line("if (" + (isFixed ? own.has : own.to) + ")")
          .indent()
          .line(kb::StoreOp(each.store).getAtomic()->str() + "(" + target + ", " + own.sum + ");")
          .outdent();
    }
  }

  /// What a block does after its last point.
  void printEnd(CodeLines &code) {
    for (auto [index, each] : llvm::enumerate(scatter.all)) {
      const Names &own = names[index];
      kb::StoreOp store = each.store;
      std::string atomic = store.getAtomic()->str();
      if (combines("bins")) {
        if (index == 0)
          code.line("__syncthreads();");
        std::string bin = text.freshName("bin");
        code.open("for (int " + bin + " = threadIdx.x; " + bin + " < " + std::to_string(bins) +
                  "; " + bin + " += " + threads + ")");
        code.line("if (" + own.shared + "[" + bin + "] != 0)").indent();
        code.line(atomic + "(&" + text.elementAt(store.getTarget(), bin) + ", " + own.shared + "[" +
                  bin + "]);")
            .outdent();
        code.close();
      }
      if (combines("block"))
        printBlock(code, each, own, atomic);
    }
  }

  void printShuffles(CodeLines &code, const Scatter &each, const Names &own) {
    std::string offset = text.freshName("offset"), other = text.freshName("other"),
                hasOther = text.freshName("hasOther");
    code.unroll().open("for (int " + offset + " = 16; " + offset + " > 0; " + offset + " /= 2)");
    code.line("const " + each.type + " " + other + " = __shfl_xor_sync(0xffffffff, " + own.sum +
              ", " + offset + ");");
    code.line("const bool " + hasOther + " = __shfl_xor_sync(0xffffffff, int(" + own.has + "), " +
              offset + ");");
    code.line("if (" + hasOther + ")")
        .indent()
        .line(own.sum + " = " + conditionally(own.has, each.combined(own.sum, other), other) + ";")
        .outdent();
    code.line(own.has + " |= " + hasOther + ";");
    code.close();
  }

  void printBlock(CodeLines &code, const Scatter &each, const Names &own, StringRef atomic) {
    std::string sums = text.freshName(each.name() + "Sums"), any = text.freshName("any"),
                warp = text.freshName("warp");
    printShuffles(code, each, own);
    if (block > 32) {
      std::string warps = std::to_string(block / 32);
      code.line("__shared__ " + each.type + " " + sums + "[" + warps + "];");
      code.line("__shared__ bool " + any + "[" + warps + "];");
      code.line("const int " + warp + " = threadIdx.x / 32;");
      code.open("if (" + lane + " == 0)");
      code.line(sums + "[" + warp + "] = " + own.sum + ";");
      code.line(any + "[" + warp + "] = " + own.has + ";").close();
      code.line("__syncthreads();");
      code.open("if (" + warp + " == 0)");
      code.line(own.has + " = " + lane + " < " + warps + " && " + any + "[" + lane + " % " + warps +
                "];");
      code.line(own.sum + " = " + sums + "[" + lane + " % " + warps + "];");
      printShuffles(code, each, own);
      code.close();
    }
    code.line("if (threadIdx.x == 0 && " + own.has + ")")
        .indent()
        .line(atomic + "(&" + text.operand(kb::StoreOp(each.store).getTarget()) + ", " + own.sum +
              ");")
        .outdent();
  }

  void printStart(CodeLines &code, StringRef body) {
    code.line("constexpr int " + threads + " = " + std::to_string(block) + ", " + countName +
              " = " + std::to_string(count) + ";");
    code.line("const int " + firstName + " = blockIdx.x * " + threads +
              (isFlat() ? " * " + countName : "") + " + threadIdx.x;");
    if (!lane.empty())
      code.line("const int " + lane + " = threadIdx.x % 32;");
    for (auto [each, own] : llvm::zip(scatter.all, names)) {
      if (combines("bins")) {
        std::string bin = text.freshName("bin");
        code.line("__shared__ " + each.type + " " + own.shared + "[" + std::to_string(bins) + "];");
        code.open("for (int " + bin + " = threadIdx.x; " + bin + " < " + std::to_string(bins) +
                  "; " + bin + " += " + threads + ")");
        code.line(own.shared + "[" + bin + "] = 0;").close();
      } else if (!isConverged()) {
        code.line(each.type + " " + own.sum + " = 0;");
        if (keepsFixed(each))
          code.line("bool " + own.has + " = false;");
        else
          code.line(each.type + " *" + own.to + " = nullptr;");
      }
    }
    if (combines("bins"))
      code.line("__syncthreads();");
  }

  std::string comment() const {
    return llvm::StringSwitch<std::string>(how)
        .Case("thread", "A thread combines what its points add to one element, and adds it once")
        .Case("block", "A block combines what its points add, and adds it once")
        .Case("runs", "Neighbouring lanes that add to one element combine first")
        .Case("match", "Lanes that add to one element combine first")
        .Default("A block collects in bins of its own, and adds them once");
  }

  GeneratedKernel finish(const std::string &body) {
    GeneratedKernel kernel;
    kernel.name = name;
    std::string points = walked.count(text, needs);
    int64_t each = block * (isFlat() ? count : 1);
    kernel.gridX = "(" + (CudaText::isAtom(points) ? points : "(" + points + ")") + " + " +
                   std::to_string(each - 1) + ") / " + std::to_string(each);
    kernel.blockX = std::to_string(block);
    std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
    kernel.definition = "// " + comment() + ".\n" + header + "__global__ void __launch_bounds__(" +
                        std::to_string(block) + ") " + name + "(" + text.parameters(unaliased) +
                        ") {\n" + body + "}\n";
    kernel.extraParameters = text.extraParameters();
    kernel.conditions = needs.conditions;
    kernel.reassociates =
        llvm::any_of(scatter.all, [](const Scatter &each) { return each.isFloat(); });
    kernel.estimatedRegisters = 24 + 4 * scatter.all.size();
    kernel.sharedBytes = sharedBytes();
    kernel.threads = block;
    return kernel;
  }
};

class ScatterSketch : public Sketch {
public:
  StringRef name() const override { return "scatter"; }

  std::string whyNot(kb::NestOp nest) const override { return ScatterNest(nest).whyNot(); }

  /// One element for all points, or few ones: then most atomics wait for each other.
  bool isSurelyBetter(kb::NestOp nest) const override {
    ScatterNest scatter(nest);
    if (!scatter.whyNot().empty())
      return false;
    bool areFixed = true, areBins = true;
    for (const Scatter &each : scatter.all) {
      areFixed &= each.isFixed;
      areBins &= each.operation == "Add" && !each.isFloat() && each.isNamedByData && each.bound &&
                 *each.bound <= fewBins;
    }
    return areFixed || areBins;
  }

  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &freedom) const override {
    std::vector<Schedule> all;
    ScatterNest scatter(nest);
    bool isFloat = llvm::any_of(scatter.all, [](const Scatter &each) { return each.isFloat(); });
    if (isFloat && !freedom.reassociate)
      return all;
    auto add = [&](StringRef how, StringRef along, int64_t count, int64_t bins = 0) {
      Schedule schedule("scatter");
      schedule.set("combine", how)
          .set("along", along)
          .set("bins", bins)
          .set("block", 256)
          .set("inflight", count);
      all.push_back(schedule);
    };
    auto every = [&](auto holds) { return llvm::all_of(scatter.all, holds); };
    if (every([](const Scatter &each) { return each.isFixed; }))
      for (int64_t count : {16, 8, 32, 4, 64})
        add("block", "none", count);
    for (StringRef dim : scatter.walks())
      for (int64_t count : {8, 16, 32, 4})
        add("thread", dim, count);
    if (every([](const Scatter &each) { return each.operation == "Add" && !each.isFixed; })) {
      std::optional<int64_t> known = scatter.bound();
      if (known && *known <= 4096)
        for (int64_t count : {16, 8, 32})
          add("bins", "none", count, *known);
      else if (!known && !isFloat)
        for (int64_t bins : {256, 1024, 4096})
          add("bins", "none", 16, bins);
    }
    if (every([](const Scatter &each) { return each.isMatchable(); }) && chip.computeMajor >= 8)
      add("match", "none", 4);
    add("runs", "none", 4);
    return all;
  }

  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &chip) const override {
    return ScatterPrinter(nest, name).run(chip);
  }
};

} // namespace

const Sketch &kbopt::scatterSketch() {
  static const ScatterSketch sketch;
  return sketch;
}
