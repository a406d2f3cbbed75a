//===- ScanLookBack.cpp - A long row in a single pass ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the scan of few long rows in one kernel: each block publishes what its tile has, and looks
// back at the tiles before it until one says what all up to it have. A state is one word, which is
// read and written by atomics alone, so that no fence is needed. Blocks take their tiles in the
// order in which they begin: those that a block waits for run or have ended.
//
// Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016, section 4.
// How far a block looks depends on how far the others are. So only values of which any order of
// combining gives the same bits are scanned in this way.
//
//===----------------------------------------------------------------------===//
#include "ScanPrinter.h"

using namespace kbopt;
using namespace mlir;

std::string ScanPrinter::whyNoLookBack(const ScanNest &scan) {
  if (scan.carried.size() != 1)
    return "several values grow along '" + scan.dim.str() + "'";
  const CarriedValue &value = scan.carried.front();
  if (!scan.isExact())
    return "the order of its sums would differ from run to run: '" + value.name + "' is of type '" +
           value.type + "'";
  if (value.type != "int" && value.type != "unsigned" && value.type != "unsigned int")
    return "'" + value.name + "' does not fit half a word of 64 bits: it is of type '" +
           value.type + "'";
  return "";
}

/// The function that says what the tiles before one have together.
std::string ScanPrinter::lookBackHelper() {
  const CarriedValue &value = scan.carried.front();
  const std::string helper = text.freshName(name + "_lookBack"), &type = value.type;
  CodeLines code;
  code.line("/// What the tiles before tile `number` have together; `own` is what this one has. A "
            "state is 0, or in its upper half 1")
      .line("/// with what the tile has, or 2 with what all tiles up to it have.");
  code.open("__device__ " + type + " " + helper + "(unsigned long long *states, int number, " +
            type + " own)");
  code.line("__shared__ " + type + " before;");
  code.open("if (threadIdx.x < 32)");
  code.line("const int lane = threadIdx.x;").line(type + " sum = " + value.identity + ";");
  code.open("if (lane == 0)")
      .line("atomicExch(&states[number], (number == 0 ? 2ull : 1ull) << 32 | (unsigned)own);")
      .close();
  code.line("bool isComplete = number == 0;");
  code.open("for (int last = number - 1; !isComplete; last -= 32)");
  code.line("unsigned long long state = lane <= last ? 0 : 2ull << 32 | (unsigned)" +
            value.identity + ";");
  code.open("while (state == 0)").line("state = atomicAdd(&states[last - lane], 0ull);").close();
  code.line("__syncwarp();");
  code.line("const unsigned complete = __ballot_sync(0xffffffff, state >> 32 == 2);");
  code.line("isComplete = complete != 0;");
  code.line(type + " value = isComplete && lane >= __ffs(complete) ? " + value.identity + " : (" +
            type + ")(unsigned)state;");
  code.unroll().open("for (int distance = 16; distance > 0; distance /= 2)");
  code.line("const " + type + " other = __shfl_xor_sync(0xffffffff, value, distance);");
  code.line("value = " + combine(value, "other", "value") + ";").close();
  code.line("sum = " + combine(value, "value", "sum") + ";").close();
  code.open("if (lane == 0)");
  code.open("if (number > 0)")
      .line("atomicExch(&states[number], 2ull << 32 | (unsigned)(" + combine(value, "sum", "own") +
            "));")
      .close();
  code.line("before = sum;").close().close();
  code.line("__syncthreads();").line("return before;").close();
  helpers += code.take() + "\n";
  return helper;
}

GeneratedKernel ScanPrinter::lookBack() {
  const CarriedValue &value = scan.carried.front();
  const Names &names = values.front();
  const std::string states = text.freshName("states"), ticket = text.freshName("ticket"),
                    before = text.freshName("before"), number = text.freshName("number"),
                    inBlock = helperFor(value, team), looks = lookBackHelper();
  text.addParameter("unsigned long long *" + states);
  CodeLines inner(1), code(1);
  printStart(inner);
  printOwn(inner, true);
  inner.line("const " + value.type + " " + before + " = " + inBlock + "(" + names.own +
             "); // the own value is now that of the block");
  const bool hasRows = scan.rows.size() > 0;
  const std::string ofRow = hasRows ? " + " + ticket + " / " + tiles + " * " + tiles : "";
  inner.line(value.name + " = " +
             combine(value, value.name,
                     looks + "(" + states + ofRow + ", " + number + ", " + names.own + ")") +
             ";");
  printElementsAfter(inner, combine(value, value.name, before));
  if (!scan.after.empty()) { // the last tile ends the row
    StatementPrinter statements{text, inner};
    inner.open("if (threadIdx.x == 0 && " + tile + " + " + step() + " >= " + extent + ")");
    inner.line(value.name + " = " + combine(value, value.name, names.own) + ";");
    for (Operation *op : scan.after)
      statements.print(op);
    inner.close();
  }
  std::string body = inner.take();
  printConstants(code, team);
  code.line("__shared__ int " + ticket + ";");
  code.open("if (threadIdx.x == 0)")
      .line(ticket + " = (int)atomicAdd(&" + states + "[gridDim.x], 1ull);")
      .close();
  code.line("__syncthreads();");
  if (hasRows) {
    declareTiles(code);
    declareRow(code, ticket + " / " + tiles, body);
  }
  code.line("const int " + number + " = " + ticket + (hasRows ? " % " + tiles : "") + ", " + tile +
            " = " + number + " * (" + step() + ");");
  GeneratedKernel kernel = finish(
      define(name,
             "// Blocks share a row. Each adds up its tile, and looks back at what the tiles "
             "before it say that they have.",
             team, code.take() + body),
      team);
  spreadTiles(kernel);
  kernel.memory = {states, "unsigned long long", kernel.gridX + " + 1", /*isCleared=*/true};
  kernel.conditions = needs.conditions;
  return kernel;
}
