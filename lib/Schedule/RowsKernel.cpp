//===- RowsKernel.cpp - The kernel around a team's row ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernel of the sketch `rows`: which row a team has, how many blocks a multiprocessor
// should hold, what the launch must satisfy, and the sums that a block adds to memory in the end.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Points.h"
#include "RowsPrinter.h"
#include "Sketches.h"

using namespace kbopt;
using namespace mlir;

std::string RowsPrinter::comment(StringRef points) const {
  std::string who = team.isBlock() ? "The threads of a block"
                    : size == 32   ? "The lanes of a warp"
                                   : std::to_string(size) + " lanes";
  std::string what = who + " share one " + points.str();
  Neighbours neighbours;
  for (kb::OverOp over : lanes)
    neighbours.add(neighboursAlong(over, over.getName()));
  if (neighbours.areSide)
    what += neighbours.areApart ? ". Some of what neighbouring threads read\n// lies side by side"
                                : ", so that neighbouring threads read neighbouring\n// elements";
  if (!cache.streams.empty())
    what += "; what is read again waits in registers";
  if (!online.empty())
    what += ". Sums are rescaled when their maximum grows";
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
  return residentBlocks(chip, size,
                        shape.turns * shape.vector *
                                (wordsHeld(text, cache) + int64_t(sums.size())) +
                            (hasLoops ? registersOfLoop : 0));
}

/// Several blocks have to share a multiprocessor, so that some of them load while others wait for
/// their warps: the compiler would spend registers on the addresses of elements instead.
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
    return llvm::createStringError("a thread would keep " + std::to_string(heldElements()) +
                                   " elements in " +
                                   std::to_string(int64_t(chip.registersPerThread)) + " registers");
  else if (double block = (heldElements() + others) * size * rows; block > chip.registersPerBlock)
    return llvm::createStringError("a block needs about " + std::to_string(int64_t(block)) +
                                   " registers");
  GeneratedKernel kernel;
  Box box(nest);
  std::string count = box.count(text, needs);
  const auto &dims = box.names;
  std::string flat = dims.size() == 1 ? dims.front().str() : text.freshName("row"),
              rowsName = text.freshName("rows");

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
      return llvm::createStringError("the host does not know the extent of '" +
                                     over.getName().str() + "'");
    int64_t capacity = isCached ? shape.turns * size * shape.vector : 0x40000000;
    if (auto constant = largest ? largest.getConstant() : std::nullopt;
        constant && isCached && *constant > capacity)
      return llvm::createStringError("a row of " + std::to_string(*constant) +
                                     " elements does not fit " + std::to_string(shape.turns) +
                                     " turns of the team");
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
    start.open("for (int " + flat + " = blockIdx.x; " + flat + " < " + box.total(text) + "; " +
               flat + " += gridDim.x)");
  } else if (!dims.empty() && (!team.isBlock() || dims.size() > 1 || isMentioned(flat)))
    start.line("const int " + flat + " = " + row + ";");
  if (!team.isBlock()) {
    start.line("if (" + (dims.empty() ? row : flat) + " >= " + box.total(text) + ")")
        .indent()
        .line("return;")
        .outdent();
  }
  if (dims.size() > 1)
    box.declare(text, start, flat, dims.back(),
                [&](StringRef dim) { return isMentioned(dim) || nest.getDomain(); });
  if (auto domain = nest.getDomain())
    start.line("if (!(" + text.condition(*domain) + "))")
        .indent()
        .line(sums.empty() ? "return;" : "continue;")
        .outdent();
  if (size < 32 && isMentioned(team.mask)) {
    std::string bits = "0x" + llvm::utohexstr((1u << size) - 1, true) + "u";
    start.line("const unsigned " + team.mask + " = " + bits + " << threadIdx.y * " + shape.lanes +
               " % 32;");
  }

  CodeLines end(1);
  if (!sums.empty()) {
    end.line("}");
    exchanged = printSums(text, end, text.expression(cache.extent), shape, size, sums);
  }

  llvm::StringSet<> unaliased = keepApart(text, needs);
  kernel.name = name;
  std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
  std::string points = dims.size() == 1 ? "'" + dims.front().str() + "'" : "point";
  kernel.definition = team.helpers() + comment(points) + header +
                      "__global__ void __launch_bounds__(" + launchBounds() + ") " + name + "(" +
                      text.parameters(unaliased) + ") {\n" + start.take() + body + end.take() +
                      "}\n";
  kernel.extraParameters = text.extraParameters();
  if (!sums.empty()) {
    // Each block adds its sums to memory once.
    std::string most =
        std::to_string(int64_t(chip.smCount) * std::clamp<int64_t>(blocksPerSm(), 1, 4));
    count = "(" + count + " < " + most + " ? " + count + " : " + most + ")";
  }
  kernel.gridX =
      rows == 1 ? count
                : "(" + count + " + " + std::to_string(rows - 1) + ") / " + std::to_string(rows);
  kernel.blockX = std::to_string(size);
  kernel.blockY = std::to_string(rows);
  kernel.conditions = needs.conditions;
  kernel.reassociates = reassociates;
  kernel.estimatedRegisters = registers;
  kernel.sharedBytes = team.sharedBytes() + exchanged;
  kernel.threads = size * rows;
  return kernel;
}

namespace {

class RowsSketch : public Sketch {
public:
  StringRef name() const override { return "rows"; }
  std::string whyNot(kb::NestOp nest) const override { return whyNotRows(nest, 1); }
  std::vector<Schedule> schedules(kb::NestOp nest, const ChipInfo &chip, const LaunchSizes &sizes,
                                  const Freedom &freedom) const override {
    return rowsSchedules(nest, chip, sizes, freedom);
  }
  std::optional<Schedule> otherwise(kb::NestOp nest, const ChipInfo &chip,
                                    const Schedule &schedule) const override {
    return rowsOtherwise(nest, chip, schedule);
  }
  llvm::Expected<GeneratedKernel> print(kb::NestOp nest, StringRef name,
                                        const ChipInfo &chip) const override {
    return RowsPrinter(nest, name, chip).run();
  }
};

} // namespace

const Sketch &kbopt::rowsSketch() {
  static const RowsSketch sketch;
  return sketch;
}
