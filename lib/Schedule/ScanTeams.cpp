//===- ScanTeams.cpp - Teams that take a row each -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScanPrinter.h"

using namespace kbopt;
using namespace mlir;

/// Declares what is before the first element of the thread, and gives every thread what the tile
/// has together.
void ScanPrinter::printBefore(CodeLines &code) {
  for (auto [value, names] : llvm::zip(scan.carried, values)) {
    std::string helper = helperFor(value, team);
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
  code.line(variable + " = " + CudaText::combine(value.combine, "other", variable) + ";");
  code.close().close();
}

std::string ScanPrinter::helperFor(const CarriedValue &value, int64_t threads) {
  std::string &helper = known[std::to_string(threads) + value.type + value.combine];
  if (!helper.empty())
    return helper;
  helper = text.freshName(name + "_before");
  const bool isWarp = threads == 32;
  CodeLines code;
  code.line(std::string("/// What the threads before this one have together. `value` becomes "
                        "that of all threads of the ") +
            (isWarp ? "warp." : "block."));
  code.open("__device__ " + value.type + " " + helper + "(" + value.type + " &value)");
  if (!isWarp)
    code.line("__shared__ " + value.type + " ofWarp[" + std::to_string(threads / 32) + "];");
  code.line(isWarp ? "const int lane = threadIdx.x;"
                   : "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;");
  code.line(value.type + " upTo = value;");
  printWarp(code, value, "upTo", 32);
  code.line(value.type + " before = __shfl_up_sync(0xffffffff, upTo, 1);");
  code.open("if (lane == 0)").line("before = " + value.identity + ";").close();
  if (isWarp) {
    code.line("value = __shfl_sync(0xffffffff, upTo, 31);");
  } else {
    std::string warps = std::to_string(threads / 32);
    code.line("__syncthreads(); // an earlier call has been read");
    code.open("if (lane == 31)").line("ofWarp[warp] = upTo;").close();
    code.line("__syncthreads();");
    code.line(value.type + " ofWarps = ofWarp[lane % " + warps + "];");
    printWarp(code, value, "ofWarps", threads / 32);
    code.line("value = __shfl_sync(0xffffffff, ofWarps, " + std::to_string(threads / 32 - 1) +
              ");");
    code.line("const " + value.type + " outer = __shfl_sync(0xffffffff, ofWarps, max(warp - 1, " +
              "0));");
    code.open("if (warp > 0)").line("before = " + combine(value, "outer", "before") + ";").close();
  }
  code.line("return before;").close();
  helpers += code.take() + "\n";
  return helper;
}

void ScanPrinter::printConstants(CodeLines &code, int64_t threads) {
  std::string constants = lanes + " = " + std::to_string(threads);
  if (rows > 1)
    constants += ", " + rowsName + " = " + std::to_string(rows);
  if (width > 1)
    constants += ", " + widthName + " = " + std::to_string(width);
  code.line("constexpr int " + constants + ";");
}

/// Declares the dimensions of the row that has \p number, as far as \p body names them.
void ScanPrinter::declareRow(CodeLines &code, StringRef number, StringRef body) {
  const Box &box = scan.rows;
  if (!box.size())
    return;
  std::string flat = box.size() == 1 ? box.names.back().str() : row;
  if (rows > 1 || mentions(body, flat) || box.size() > 1)
    code.line("const int " + flat + " = " + number + ";");
  if (rows > 1)
    code.line("if (" + flat + " >= " + box.total(text) + ")").indent().line("return;").outdent();
  if (box.size() > 1)
    box.declare(text, code, flat, box.names.back(),
                [&](StringRef dim) { return mentions(body, dim); });
}

/// What a row does before its elements.
void ScanPrinter::printStart(CodeLines &code) {
  StatementPrinter statements{text, code};
  for (Operation *op : scan.before)
    statements.print(op);
}

void ScanPrinter::printTiles(CodeLines &code) {
  code.open("for (int " + tile + " = 0; " + tile + " < " + extent + "; " + tile + " += " + step() +
            ")");
  printOwn(code, true);
  printResults(code);
  for (auto [value, names] : llvm::zip(scan.carried, values))
    code.line(value.name + " = " + combine(value, value.name, names.own) + ";");
  code.close();
}

void ScanPrinter::printAfter(CodeLines &code) {
  if (scan.after.empty())
    return;
  StatementPrinter statements{text, code};
  code.open("if (threadIdx.x == 0)");
  for (Operation *op : scan.after)
    statements.print(op);
  code.close();
}

std::string ScanPrinter::printTeams() {
  CodeLines inner(1), code(1);
  printStart(inner);
  printTiles(inner);
  printAfter(inner);
  std::string body = inner.take();
  printConstants(code, team);
  declareRow(code, rows > 1 ? "blockIdx.x * " + rowsName + " + threadIdx.y" : "blockIdx.x", body);
  return code.take() + body;
}

std::string ScanPrinter::define(StringRef kernel, StringRef comment, int64_t threads,
                                StringRef body) {
  std::string header = nest.getHeader() ? nest.getHeader()->str() + "\n" : "";
  return comment.str() + "\n" + header + "__global__ void __launch_bounds__(" +
         std::to_string(threads) + ") " + kernel.str() + "(" + text.parameters(unaliased) +
         ") {\n" + body.str() + "}\n";
}

GeneratedKernel ScanPrinter::finish(const std::string &definition, int64_t threads) {
  GeneratedKernel kernel;
  kernel.name = name;
  kernel.gridX = scan.rows.count(text, needs);
  kernel.blockX = std::to_string(team);
  kernel.definition = helpers + definition;
  kernel.extraParameters = text.extraParameters();
  kernel.reassociates = !scan.isExact();
  kernel.estimatedRegisters = 24 + 2 * width * (1 + held.size());
  kernel.sharedBytes = isWarp() ? 0 : threads / 32 * 8 * scan.carried.size();
  kernel.threads = threads;
  return kernel;
}

GeneratedKernel ScanPrinter::teams() {
  std::string body = printTeams();
  std::string comment = std::string("// A ") + (isWarp() ? "warp" : "block") +
                        " takes a row, tile by tile. A thread adds what the threads before it "
                        "have to its\n// own elements.";
  GeneratedKernel kernel = finish(define(name, comment, team * rows, body), team * rows);
  if (rows > 1)
    kernel.gridX = "(" +
                   (CudaText::isAtom(kernel.gridX) ? kernel.gridX : "(" + kernel.gridX + ")") +
                   " + " + std::to_string(rows - 1) + ") / " + std::to_string(rows);
  kernel.blockY = std::to_string(rows);
  kernel.conditions = needs.conditions;
  return kernel;
}

llvm::Expected<GeneratedKernel> ScanPrinter::run() {
  for (auto each : {&ScanPrinter::chooseShape, &ScanPrinter::require, &ScanPrinter::findHeld})
    if (std::string reason = (this->*each)(); !reason.empty())
      return llvm::createStringError(reason);
  nameThings();
  return launches == 3 ? grid() : launches == 2 ? lookBack() : teams();
}
