//===- ScanGrid.cpp - Blocks that share a long row ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the scan of few long rows over the whole grid, in three launches: the sum of each tile, what
// is before each tile, and the elements. Between them a tile's sum waits where the tile's first
// result will lie, so that no memory is needed. Blocks of one launch never wait for each other, and
// launches on several streams share nothing.
//
// Reduce-then-scan: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back,
// 2016, section 3. Their single pass moves two thirds of the bytes, but needs memory for the state
// of tiles that is cleared before each launch.
//
//===----------------------------------------------------------------------===//
#include "ScanPrinter.h"

using namespace kbopt;
using namespace mlir;

/// Threads of the block that finds what is before the tiles of a row.
static constexpr int64_t offsetThreads = 1024;

/// Where the sum of the tile waits that begins with element \p at.
std::string ScanPrinter::slot(StringRef at) {
  text.setName(scan.dim, at);
  std::string memory = text.operand(scan.slot);
  text.setName(scan.dim, scan.dim);
  return memory;
}

void ScanPrinter::declareTiles(CodeLines &code) {
  code.line("const int " + tiles + " = (" + extent + " + " + step() + " - 1) / (" + step() + ");");
}

std::string ScanPrinter::tileSums() {
  const CarriedValue &value = scan.carried.front();
  CodeLines inner(1), code(1);
  printOwn(inner, false);
  inner.line(helperFor(value, team) + "(" + values.front().own + "); // now that of the block");
  inner.open("if (threadIdx.x == 0)");
  inner.line(slot(tile) + " = " + values.front().own + ";").close();
  std::string elements = inner.take();
  printStart(inner);
  std::string start = inner.take();
  printConstants(code, team);
  bool hasRows = scan.rows.size() > 0;
  if (hasRows) {
    declareTiles(code);
    declareRow(code, "blockIdx.x / " + tiles, start + elements);
  }
  code.line("const int " + tile + " = blockIdx.x" + (hasRows ? " % " + tiles : "") + " * (" +
            step() + ");");
  return code.take() + start + elements;
}

std::string ScanPrinter::tileOffsets() {
  const CarriedValue &value = scan.carried.front();
  const Names &names = values.front();
  std::string at = text.freshName("at"), threads = text.freshName("threads");
  CodeLines inner(1), code(1);
  printStart(inner);
  inner.open("for (int " + tile + " = 0; " + tile + " < " + tiles + "; " + tile + " += " + threads +
             ")");
  inner.line("const int " + at + " = " + tile + " + threadIdx.x;");
  std::string place = slot(at + " * (" + step() + ")");
  inner.line(value.type + " " + names.own + " = " + at + " < " + tiles + " ? " + place + " : " +
             value.identity + ";");
  inner.line("const " + value.type + " " + names.upTo + " = " +
             combine(value, value.name, helperFor(value, offsetThreads) + "(" + names.own + ")") +
             ";");
  inner.open("if (" + at + " < " + tiles + ")").line(place + " = " + names.upTo + ";").close();
  inner.line(value.name + " = " + combine(value, value.name, names.own) + ";").close();
  printAfter(inner);
  std::string body = inner.take();
  printConstants(code, team);
  code.line("constexpr int " + threads + " = " + std::to_string(offsetThreads) + ";");
  declareTiles(code);
  declareRow(code, "blockIdx.x", body);
  return code.take() + body;
}

std::string ScanPrinter::tileResults() {
  CodeLines inner(1), code(1);
  printStart(inner);
  inner.line(scan.carried.front().name + " = " + slot(tile) +
             "; // before any thread of the block stores");
  inner.line("__syncthreads();");
  printOwn(inner, true);
  printResults(inner);
  std::string body = inner.take();
  printConstants(code, team);
  bool hasRows = scan.rows.size() > 0;
  if (hasRows) {
    declareTiles(code);
    declareRow(code, "blockIdx.x / " + tiles, body);
  }
  code.line("const int " + tile + " = blockIdx.x" + (hasRows ? " % " + tiles : "") + " * (" +
            step() + ");");
  return code.take() + body;
}

GeneratedKernel ScanPrinter::grid() {
  std::string offsets = text.freshName(name + "_offsets"), results = text.freshName(name + "_all");
  std::string sums = tileSums(), between = tileOffsets(), end = tileResults();
  GeneratedKernel kernel = finish(
      define(name,
             "// Blocks share a row. Its sums, tile by tile, wait where the first result of each "
             "tile will lie.",
             team, sums) +
          "\n" +
          define(offsets, "// Replaces the sum of each tile by what is before it.", offsetThreads,
                 between) +
          "\n" +
          define(results,
                 "// A thread adds what the tiles and threads before it have to its own "
                 "elements.",
                 team, end),
      team);
  const std::string rowCount = kernel.gridX;
  spreadTiles(kernel);
  kernel.then = {{offsets, rowCount, std::to_string(offsetThreads)},
                 {results, kernel.gridX, kernel.blockX}};
  kernel.conditions = needs.conditions;
  return kernel;
}

void ScanPrinter::spreadTiles(GeneratedKernel &kernel) {
  std::string count = kernel.gridX, length = text.hostExpression(scan.extent),
              span = std::to_string(team * width);
  if (!CudaText::isAtom(length))
    length = "(" + length + ")";
  std::string ofRow = "(" + length + " + " + std::to_string(team * width - 1) + ") / " + span;
  if (count != "1") {
    kernel.gridX = ofRow + " * " + (CudaText::isAtom(count) ? count : "(" + count + ")");
    needs.expression("(size_t)(" + ofRow + ") * " +
                     (CudaText::isAtom(count) ? count : "(" + count + ")") + " <= 0x7fffffff");
  } else {
    kernel.gridX = ofRow;
  }
  if (!scan.extent.getConstant())
    needs.expression(text.hostExpression(scan.extent) + " > 0");
  kernel.preferences.push_back(text.hostExpression(scan.extent) + " >= 32768");
  if (count != "1")
    kernel.preferences.push_back(count + " <= 64");
}
