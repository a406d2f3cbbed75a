//===- InnerLoops.cpp - Loops that one thread runs --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "InnerLoops.h"
#include "Accesses.h"

using namespace kbopt;
using namespace mlir;

/// Whether \p over counts to its extent, whatever the data, and has no loop inside.
static bool isInnermost(kb::OverOp over) {
  bool hasLoops = false;
  over.getBody().walk([&](kb::OverOp) { hasLoops = true; });
  return !hasLoops && !over.isUnbounded() && !over.getText();
}

/// Takes the conditions out of \p needs that a kernel can ask itself, beyond the first \p known
/// ones: sizes that divide. They are joined by `&&`.
static std::string takeDivisions(Needs &needs, size_t known) {
  std::string all;
  auto isOwn = [&](const LaunchCondition &each) {
    return each.kind == LaunchCondition::Expression && !StringRef(each.text).contains("Dim.");
  };
  for (size_t i = known; i < needs.conditions.size(); ++i)
    if (isOwn(needs.conditions[i]))
      all += (all.empty() ? "" : " && ") + needs.conditions[i].text;
  auto added = llvm::drop_begin(needs.conditions, known);
  needs.conditions.erase(std::remove_if(added.begin(), added.end(), isOwn), needs.conditions.end());
  return all;
}

/// Prints the loop \p over with vectors, which \p streams are, where \p divides holds (empty: it
/// does), and then what is left.
static void printVectors(CudaText &text, CodeLines &code, kb::OverOp over, const InnerShape &shape,
                         const LaneShape &lanes, ArrayRef<Stream> streams, StringRef divides,
                         OperandText replaced) {
  std::string extent = text.intExpression(over.getExtent()), name = over.getName().str(),
              atom = CudaText::isAtom(extent) ? extent : "(" + extent + ")", whole = extent;
  auto constant = over.getExtent().getConstant();
  bool isWhole = constant && *constant % shape.vector == 0;
  if (!isWhole)
    whole = atom + " / " + lanes.width + " * " + lanes.width;
  if (bool hasRest = !isWhole || !divides.empty(); hasRest) {
    std::string value = divides.empty() ? whole : divides.str() + " ? " + whole + " : 0";
    whole = text.freshName("whole");
    code.line("const int " + whole + " = " + value + ";");
  }
  if (shape.inflight > 1)
    code.unroll(shape.inflight);
  code.open("for (int " + lanes.first + " = 0; " + lanes.first + " < " + whole + "; " +
            lanes.first + " += " + lanes.width + ")");
  printTurn(text, code, over.getBody().front(), name, lanes.first, lanes, streams);
  code.close();
  if (whole == extent)
    return;
  code.open("for (int " + name + " = " + whole + "; " + name + " < " + extent + "; ++" + name +
            ")");
  StatementPrinter print{text, code, replaced};
  print.print(over.getBody().front());
  code.close();
}

bool kbopt::printInnerLoop(CudaText &text, CodeLines &code, kb::OverOp over,
                           const InnerShape &shape, OperandText replaced, Needs &needs) {
  if (!isInnermost(over))
    return false;
  Block &body = over.getBody().front();
  StringRef dim = over.getName();
  LaneShape lanes;
  lanes.outside = [&](kb::OperandAttr operand) { return replaced(operand); };
  lanes.vector = shape.vector;
  Needs found = needs;
  if (shape.vector > 1) {
    lanes.width = std::to_string(shape.vector);
    lanes.first = text.freshName(dim.str() + "First");
    lanes.element = text.freshName("e");
    std::vector<Stream> streams = streamsOf(text, body, dim, lanes, {}, found);
    if (llvm::any_of(streams, [](const Stream &each) { return each.isVector; })) {
      std::string divides = takeDivisions(found, needs.conditions.size());
      needs = found;
      printVectors(text, code, over, shape, lanes, streams, divides, replaced);
      return true;
    }
  }
  lanes.vector = 1, lanes.packs = true, lanes.first = dim.str(), found = needs;
  std::vector<Stream> packs = streamsOf(text, body, dim, lanes, {}, found);
  if (packs.empty())
    return false;
  needs = found;
  if (shape.inflight > 1)
    code.unroll(shape.inflight);
  code.open(loopHead(text, over));
  printTurn(text, code, body, dim, dim, lanes, packs);
  code.close();
  return true;
}

int64_t kbopt::innerVector(kb::NestOp nest, Block &body, StringRef lanes,
                           const LaunchSizes &sizes) {
  CudaText text(nest);
  int64_t bytes = 16;
  body.walk([&](kb::OverOp over) {
    if (!isInnermost(over))
      return;
    Block &inner = over.getBody().front();
    auto length = valueAt(over.getExtent(), sizes);
    for (Operation &op : inner)
      for (kb::OperandAttr load : loadsOf(&op)) {
        auto far = strideAlong(load.getOffset(), lanes);
        bool isOwn = !far || std::abs(*far) > 1,
             isLong = !length || *length >= 16 / load.getBytes();
        if (isOwn && isLong && isVector(text, load, inner, over.getName(), 2, nullptr))
          bytes = std::min(bytes, load.getBytes());
      }
  });
  return 16 / bytes;
}
