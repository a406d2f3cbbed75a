//===- StencilWindows.cpp - Windows of neighbouring points ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how windows are written out: a thread loads what the windows of its points have in common
// once, into registers. Its points lie along a dimension on which lanes do not run, so that whole
// warps have the rows that lie inside the array, where no condition on rows is asked. Elsewhere the
// thread does as the given kernel does.
//
//===----------------------------------------------------------------------===//
#include "StencilWindows.h"
#include "Accesses.h"
#include "Bounds.h"
#include "MapNest.h"
#include "Points.h"
#include "Statements.h"
#include "WindowNest.h"

using namespace kbopt;
using namespace mlir;

/// More terms of a thread than these are not written out.
static constexpr int64_t mostTerms = 256;
/// Elements that a thread holds in registers.
static constexpr int64_t mostHeld = 128;

namespace {

/// Iterations of \p over for which \p load is loaded for \p count points.
int64_t lengthOf(const WindowLoad &load, kb::OverOp over, int64_t count) {
  return *over.getExtent().getConstant() + (over == load.sliding ? (count - 1) * load.steps : 0);
}

int64_t elementsOf(const WindowLoad &load, int64_t count) {
  int64_t elements = 1;
  for (kb::OverOp over : load.loops)
    elements *= lengthOf(load, over, count);
  return elements;
}

int64_t elementsOf(ArrayRef<WindowLoad> loads, int64_t count) {
  int64_t elements = 0;
  for (const WindowLoad &load : loads)
    elements += elementsOf(load, count);
  return elements;
}

/// Why \p count points along \p along do not load \p loads together; empty if they do.
std::string whyNotHeld(ArrayRef<WindowLoad> loads, int64_t count, StringRef along) {
  int64_t held = elementsOf(loads, count);
  if (llvm::none_of(loads, [](const WindowLoad &load) { return bool(load.sliding); }))
    return "neighbours along '" + along.str() + "' load no common element";
  return held > mostHeld ? "a thread would hold " + std::to_string(held) + " elements" : "";
}

class WindowPrinter {
public:
  WindowPrinter(kb::NestOp nest, StringRef name, const FixedValues &fixed)
      : schedule(nest.getScheduleAttr()), name(name.str()), fixed(fixed), given(nest, fixed),
        plain(nest, fixed), nest(given.nest()), text(nest), box(nest) {}

  llvm::Expected<GeneratedKernel> run() {
    for (auto step : {&WindowPrinter::chooseShape, &WindowPrinter::require})
      if (std::string reason = (this->*step)(); !reason.empty())
        return llvm::createStringError(reason);
    nameThings();
    CodeLines code(1);
    printIndices(code);
    printPoints(code);
    return finish(code.take());
  }

private:
  Schedule schedule;
  std::string name;
  const FixedValues &fixed;
  FixedNest given, plain; ///< `plain` lacks the conditions on rows
  kb::NestOp nest;
  CudaText text;
  Box box;
  Needs needs;
  StringRef lanes, along;
  int64_t block = 0, count = 0;
  kb::ExprAttr extent; ///< of `along`
  std::vector<FixedNest::Inside> worst;
  std::vector<WindowLoad> loads;
  std::vector<std::string> arrays; ///< in which they wait
  std::string threads, countName, point, first, part, turn;
  llvm::StringSet<> unaliased;

  bool hasSeveral() const { return count > 1; }

  std::string chooseShape() {
    lanes = schedule.string("lanes"), along = schedule.string("along");
    block = schedule.integer("block", 256), count = schedule.integer("inflight", 1);
    if (!llvm::is_contained(box.names, lanes))
      return "the key 'lanes' must name one of its dimensions";
    if (count > 1 && (!llvm::is_contained(box.names, along) || along == lanes))
      return "the key 'along' must name another one of its dimensions than 'lanes'";
    if (!llvm::isPowerOf2_64(block) || block < 32 || block > 1024)
      return "the key 'block' must be a power of two from 32 to 1024";
    if (!llvm::isPowerOf2_64(count) || count > 8)
      return "the key 'inflight' must be 1, 2, 4 or 8";
    auto size = given.windowSize();
    if (!size || *size * count > mostTerms)
      return size ? "a thread combines more than " + std::to_string(mostTerms) + " elements"
                  : "the key 'fixed' does not say how many elements a window has";
    if (!hasSeveral())
      return "";
    auto found = given.inside(along);
    if (!found)
      return "a condition on the elements of a window is not a range";
    worst = *found;
    plain.dropConditions(along);
    loads = plain.loads(along);
    return whyNotHeld(loads, count, along);
  }

  std::string require() {
    if (std::string reason = requireInts(text, needs); !reason.empty())
      return reason;
    for (const auto &[parameter, value] : fixed)
      needs.expression(parameter + " == " + std::to_string(value));
    unaliased = keepApart(text, needs);
    return "";
  }

  void nameThings() {
    threads = text.freshName("threads"), countName = text.freshName("count");
    point = text.freshName("point");
    if (hasSeveral()) {
      first = text.freshName(along.str() + "First"), turn = text.freshName("r");
      part = text.freshName(along.str() + "Part");
      for (const WindowLoad &load : loads)
        arrays.push_back(arrayName(text, load.operand));
      for (auto [dim, size] : llvm::zip(box.names, box.extents))
        if (dim == along) {
          extent = size;
          dim = part;
          size = withExpr(size, (size.getExpr() + (count - 1)).floorDiv(count));
        }
    }
    // The last one is the fastest.
    size_t at = llvm::find(box.names, lanes) - box.names.begin();
    std::rotate(box.names.begin() + at, box.names.begin() + at + 1, box.names.end());
    std::rotate(box.extents.begin() + at, box.extents.begin() + at + 1, box.extents.end());
  }

  void printIndices(CodeLines &code) {
    code.line("constexpr int " + threads + " = " + std::to_string(block) +
              (hasSeveral() ? ", " + countName + " = " + std::to_string(count) : "") + ";");
    code.line("const int " + point + " = blockIdx.x * " + threads + " + threadIdx.x;");
    code.line("if (" + point + " >= " + box.total(text) + ")").indent().line("return;").outdent();
    CodeLines draft(1);
    CudaText before = text;
    printPoints(draft);
    text = std::move(before);
    std::string all = draft.take();
    box.declare(text, code, point, box.size() == 1 ? point : lanes.str(),
                [&](StringRef name) { return name == StringRef(part) || mentions(all, name); });
    if (box.size() == 1 && !hasSeveral())
      code.line("const int " + lanes + " = " + point + ";");
    if (hasSeveral())
      code.line("const int " + first + " = " + part + " * " + countName + ";");
  }

  /// Prints \p print's text with \p value for the dimension `along`.
  template <class Print> std::string at(StringRef value, Print print) {
    text.setName(along, value);
    auto result = print();
    text.setName(along, along);
    return result;
  }

  /// All points of the thread are there, and no condition on rows fails.
  std::string allInside() {
    std::vector<std::string> all = {first + " + " + countName + " <= " + text.expression(extent)};
    std::string last = first + " + " + countName + " - 1";
    for (const FixedNest::Inside &each : worst) {
      std::string condition = at(each.atLast ? StringRef(last) : StringRef(first),
                                 [&] { return comparison(text, each.worst, false); });
      if (!llvm::is_contained(all, condition))
        all.push_back(condition);
    }
    return llvm::join(all, " && ");
  }

  void printPoints(CodeLines &code) {
    if (!hasSeveral())
      return printStatements(code, nest, [](kb::OperandAttr) { return ""; });
    code.open("if (" + allInside() + ")");
    for (auto [load, array] : llvm::zip(loads, arrays))
      printLoad(code, load, array);
    code.unroll().open("for (int " + turn + " = 0; " + turn + " < " + countName + "; ++" + turn +
                       ")");
    code.line("const int " + along + " = " + first + " + " + turn + ";");
    printStatements(code, plain.nest(), [&](kb::OperandAttr operand) { return held(operand); });
    code.close().line("return;").close();
    std::string end = "min(" + first + " + " + countName + ", " + text.intExpression(extent) + ")";
    code.open("for (int " + along + " = " + first + "; " + along + " < " + end + "; ++" + along +
              ")");
    printStatements(code, nest, [](kb::OperandAttr) { return ""; });
    code.close();
  }

  /// Prints the statements of \p of for one point, its loops written out.
  void printStatements(CodeLines &code, kb::NestOp of,
                       std::function<std::string(kb::OperandAttr)> replaced) {
    StatementPrinter print{text, code, std::move(replaced)};
    print.loops = [&](kb::OverOp over) {
      code.unroll().open(loopHead(text, over));
      print.print(over.getBody().front());
      code.close();
      return true;
    };
    print.print(of.getBody().front());
  }

  /// Loads what the windows of all points of the thread have.
  void printLoad(CodeLines &code, const WindowLoad &load, const std::string &array) {
    std::string sizes, places;
    for (kb::OverOp over : load.loops) {
      sizes += "[" + std::to_string(lengthOf(load, over, count)) + "]";
      places += "[" + over.getName().str() + "]";
    }
    StringRef type = load.operand.getType();
    type.consume_front("const ");
    code.line(type + " " + array + sizes + ";");
    for (kb::OverOp over : load.loops) {
      std::string dim = over.getName().str();
      code.unroll().open("for (int " + dim + " = 0; " + dim + " < " +
                         std::to_string(lengthOf(load, over, count)) + "; ++" + dim + ")");
    }
    std::string conditions;
    for (kb::WhenOp when : load.conditions)
      conditions += (conditions.empty() ? "" : " && ") + text.condition(*when.getDomain());
    if (!conditions.empty())
      code.open("if (" + conditions + ")");
    code.line(array + places + " = " + at(first, [&] { return text.operand(load.operand); }) + ";");
    for (size_t i = 0; i < load.loops.size() + !conditions.empty(); ++i)
      code.close();
  }

  /// Where \p operand of the point number `turn` waits in registers; empty if it does not.
  std::string held(kb::OperandAttr operand) const {
    for (auto [load, array] : llvm::zip(loads, arrays)) {
      if (load.operand != operand)
        continue;
      std::string place = array;
      for (kb::OverOp over : load.loops) {
        std::string steps = load.steps == 1 ? "" : std::to_string(load.steps) + " * ";
        place +=
            "[" + (over == load.sliding ? steps + turn + " + " : "") + over.getName().str() + "]";
      }
      return place;
    }
    return "";
  }

  GeneratedKernel finish(const std::string &body) {
    GeneratedKernel kernel;
    kernel.name = name;
    std::string points = box.count(text, needs);
    kernel.gridX =
        "(" +
        (CudaText::isAtom(points) || StringRef(points).contains(" * ") ? points
                                                                       : "(" + points + ")") +
        " + " + std::to_string(block - 1) + ") / " + std::to_string(block);
    kernel.blockX = std::to_string(block);
    std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
    kernel.definition = comment() + header + "__global__ void __launch_bounds__(" +
                        std::to_string(block) + ") " + name + "(" + text.parameters(unaliased) +
                        ") {\n" + body + "}\n";
    kernel.extraParameters = text.extraParameters();
    kernel.conditions = needs.conditions;
    kernel.estimatedRegisters = 28;
    for (const WindowLoad &load : loads)
      kernel.estimatedRegisters += unsigned(elementsOf(load, count));
    kernel.threads = block;
    return kernel;
  }

  std::string comment() const {
    if (!hasSeveral())
      return "// The window of a point has a constant size, so that its loops are written out.\n";
    return "// A thread computes " + std::to_string(count) + " neighbouring points along '" +
           along.str() +
           "', whose windows have a constant size, and\n// loads the elements that they share "
           "once.\n";
  }
};

} // namespace

std::vector<Schedule> kbopt::windowSchedules(kb::NestOp nest, const LaunchSizes &sizes) {
  std::vector<Schedule> all;
  auto fixed = fixedValues(nest, sizes);
  if (!fixed)
    return all;
  FixedNest copy(nest, *fixed);
  auto size = copy.windowSize();
  if (!size)
    return all;
  std::string lanes = MapNest(nest, false).laneDims().front().str();
  SmallVector<Schedule> later; // those that hold much and share little
  auto add = [&](StringRef along, int64_t count, int64_t block) {
    bool isWorth = true;
    if (*size * count > mostTerms || (count > 1 && !copy.inside(along)))
      return;
    if (count > 1) {
      FixedNest plain(nest, *fixed);
      plain.dropConditions(along);
      std::vector<WindowLoad> loads = plain.loads(along);
      if (!whyNotHeld(loads, count, along).empty())
        return;
      constexpr int64_t few = 32; // on an H200, where means over 3 x 3 x 3 held 45 and lost
      int64_t held = elementsOf(loads, count), single = elementsOf(loads, 1);
      isWorth = held <= few || 2 * held <= single * count;
    }
    Schedule schedule("stencil");
    schedule.set("along", along)
        .set("block", block)
        .set("fixed", fixedText(*fixed))
        .set("inflight", count)
        .set("lanes", lanes)
        .set("rows", int64_t(0));
    if (isWorth)
      all.push_back(schedule);
    else
      later.push_back(schedule);
  };
  SmallVector<StringRef> dims = copy.sharing(lanes);
  // Neighbours in the same image are inner dimensions.
  for (StringRef along : llvm::reverse(dims))
    for (int64_t count : {4, 2, 8})
      add(along, count, 256);
  add("none", 1, 256);
  if (!dims.empty())
    add(dims.back(), 4, 128);
  add("none", 1, 128);
  llvm::append_range(all, later);
  return all;
}

int64_t kbopt::heldElements(kb::NestOp nest, const Schedule &schedule) {
  auto fixed = fixedValues(schedule);
  int64_t count = schedule.integer("inflight", 1);
  if (!fixed || count < 2)
    return 0;
  FixedNest plain(nest, *fixed);
  StringRef along = schedule.string("along");
  if (!plain.windowSize())
    return 0;
  plain.dropConditions(along);
  return elementsOf(plain.loads(along), count);
}

llvm::Expected<GeneratedKernel> kbopt::printWindows(kb::NestOp nest, StringRef name) {
  auto fixed = fixedValues(Schedule(nest.getScheduleAttr()));
  if (!fixed)
    return llvm::createStringError("the key 'fixed' is not written as K:3,stride:2");
  for (const auto &[parameter, value] : *fixed)
    if (llvm::none_of(nest.getSymbols().getAsRange<kb::SymbolAttr>(), [&](kb::SymbolAttr each) {
          return each.getName() == parameter && each.getOrigin() == kb::SymbolOrigin::Param;
        }))
      return llvm::createStringError("'" + parameter + "' is not one of its sizes");
  return WindowPrinter(nest, name, *fixed).run();
}
