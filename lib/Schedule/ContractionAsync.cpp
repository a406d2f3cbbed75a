//===- ContractionAsync.cpp - A contraction fed by cp.async -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernel whose operand tiles are copied to shared memory past the registers, several tiles
// ahead. It wins where a chip is filled by few or small tiles. Sums as in ContractionSimt.cpp.
//
//===----------------------------------------------------------------------===//

#include "ContractionPrinter.h"

using namespace kbopt;
using namespace mlir;

namespace {

class AsyncPrinter : ContractionPrinter {
public:
  AsyncPrinter(const Contraction &contraction, const ContractionShape &shape, StringRef name)
      : ContractionPrinter(contraction, shape, name) {
    for (const NamedTile &tile : tiles)
      group = tile.isTransposed ? group : std::max(group, tile.width);
  }

  llvm::Expected<GeneratedKernel> print(int64_t blocks) {
    load = text.freshName("load"), multiply = text.freshName("multiply"),
    stages = text.freshName("STAGES"), term = text.freshName("term"), used = text.freshName("used");
    printPosition();
    code.line("constexpr int " + stages + " = " + std::to_string(shape.stages) + ";");
    printTiles();
    printThread();
    printLoad();
    printInitialValues();
    printMultiply();
    printLoop();
    if (isSplit())
      printParts();
    printAfter();
    kernel.definition = "#include <cuda_pipeline_primitives.h>\n\n";
    return finish("// A block computes " + std::to_string(shape.bm) + " x " +
                      std::to_string(shape.bn) + " outputs, a thread " + std::to_string(shape.tm) +
                      " x " + std::to_string(shape.tn) +
                      " of them in registers, from tiles in shared memory\n// that are copied " +
                      std::to_string(shape.stages - 1) +
                      " tiles ahead. Rows and columns past the end read the last one; what they "
                      "sum is not stored.\n",
                  blocks);
  }

private:
  /// Of a thread in the unrolled body of the loop: longer bodies do not fit the instruction cache.
  static constexpr int64_t mostMultiplies = 512;
  std::string load, multiply, stages, term, used;
  int64_t group = 1; ///< terms that are read from shared memory at once

  void printTiles() {
    std::string memory, used;
    bool isDynamic = shape.sharedBytes(contraction) > 48 * 1024;
    if (isDynamic) {
      memory = text.freshName(kernel.name + "Memory");
      code.line("extern __shared__ __align__(16) char " + memory + "[];");
      kernel.dynamicSharedBytes = std::to_string(shape.sharedBytes(contraction));
    }
    for (const NamedTile &tile : tiles) {
      std::string side = sideSize(*tile.tile), type = tile.tile->operand.getType().str();
      std::string extents =
          "[" + stages + "]" +
          (!tile.isTransposed ? "[" + side + "][" + bk + " + 4]"
                              : "[" + bk + "][" + side + (tile.tile->alongSide ? "]" : " + 4]"));
      if (!isDynamic)
        code.line("__shared__ __align__(16) " + type + " " + tile.shared + extents + ";");
      else
        code.line("auto &" + tile.shared + " = *reinterpret_cast<" + type + " (*)" + extents +
                  ">(" + memory + used + ");");
      used += " + sizeof(" + tile.shared + ")";
    }
    dynamicMemory = isDynamic ? memory + used : "";
  }

  void printLoad() {
    printWalks();
    code.line("auto " + load + " = [&](int " + stage + ", int " + left + ") {").indent();
    printFirstTerm();
    for (const NamedTile &tile : tiles)
      printCopies(tile, [&](StringRef address) {
        auto [side, inner] = placeOf(tile);
        std::string target =
            tile.shared + "[" + stage + "]" +
            (tile.isTransposed ? "[" + inner + "][" + side + "]" : "[" + side + "][" + inner + "]");
        std::string bytes = std::to_string(tile.width * tile.tile->operand.getBytes());
        if (!tile.guard.empty() && tile.isVector()) {
          code.line("__pipeline_memcpy_async(&" + target + ", " + address + ", " + bytes + ", " +
                    tile.guard + " ? 0 : " + bytes + ");");
          return;
        }
        if (!tile.guard.empty())
          code.open("if (" + tile.guard + ")");
        code.line("__pipeline_memcpy_async(&" + target + ", " + address + ", " + bytes + ");");
        if (!tile.guard.empty())
          code.close().line("else").indent().line(target + " = " + zeroOf(tile) + ";").outdent();
      });
    if (hasTables())
      printDescribe(slot + " ^ 1", limit + " - " + left + " + " + bk);
    code.outdent().line("};");
  }

  void printFetch(const NamedTile &tile, StringRef step) {
    bool isRow = tile.tile->isRow, isApart = isRow ? rowsApart : columnsApart;
    const std::string &index = isRow ? i : j, &many = isRow ? tm : tn;
    std::string type = tile.tile->operand.getType().str();
    std::string side =
        (isRow ? rowOfThread : columnOfThread) + " + " + index +
        (isApart ? (isRow ? " * 4" : " * 8")
                 : std::string(" / 4 * ") + (isRow ? "16" : "32") + " + " + index + " % 4");
    std::string loop = "for (int " + index + " = 0; " + index + " < " + many + "; ++" + index + ")";
    if (tile.isTransposed) {
      code.line(type + " " + tile.registers + "[" + many + "];").unroll().open(loop);
      code.line(tile.registers + "[" + index + "] = " + tile.shared + "[" + stage + "][" + step +
                "][" + side + "];")
          .close();
      return;
    }
    std::string vector = vectorOf(tile);
    code.line("alignas(16) " + type + " " + tile.registers + "[" + many + "][" +
              std::to_string(tile.width) + "];")
        .unroll()
        .open(loop);
    code.line("*reinterpret_cast<" + vector + " *>(" + tile.registers + "[" + index +
              "]) = *reinterpret_cast<const " + vector + " *>(&" + tile.shared + "[" + stage +
              "][" + side + "][" + step + "]);")
        .close();
  }

  void printMultiply() {
    code.line("auto " + multiply + " = [&](int " + stage + ", int " + step +
              (usesDepth ? ", int " + depth0 : "") + (contraction.length ? ", bool " + edge : "") +
              ") {")
        .indent();
    for (const NamedTile &tile : tiles)
      if (!tile.isTransposed)
        printFetch(tile, step);
    if (group > 1)
      code.unroll().open("for (int " + term + " = 0; " + term + " < " + std::to_string(group) +
                         "; ++" + term + ")");
    std::string at = group > 1 ? step + " + " + term : step;
    if (usesDepth)
      code.line("const int " + depth + " = " + depth0 + " + " + at + ";");
    if (usesDepth)
      printDigits();
    for (const NamedTile &tile : tiles)
      if (tile.isTransposed)
        printFetch(tile, at);
    printTerm([&](const NamedTile &tile) {
      return tile.registers + "[" + (tile.tile->isRow ? i : j) + "]" +
             (tile.isTransposed ? "" : "[" + term + "]");
    });
    if (group > 1)
      code.close();
    code.outdent().line("};");
  }

  /// The terms of a tile, \p many of them.
  void printTerms(const llvm::Twine &many, bool isEdge) {
    int64_t turns = std::max<int64_t>(1, mostMultiplies / (shape.tm * shape.tn * group));
    code.unroll(isEdge ? 1 : turns * group < shape.bk / shape.split ? turns : 0);
    code.open("for (int " + step + " = 0; " + step + " < " + many + "; " +
              (group > 1 ? step + " += " + std::to_string(group) : "++" + step) + ")");
    code.line(multiply + "(" + stage + ", " + ownTerm(step) + (usesDepth ? ", " + depth0 : "") +
              (contraction.length ? isEdge ? ", true" : ", false" : "") + ");");
    code.close();
  }

  void printTileLoop(const llvm::Twine &condition, const llvm::Twine &terms, bool isEdge) {
    code.open("for (; " + condition + "; " + depth0 + " += " + bk + ")");
    code.line("__pipeline_wait_prior(" + stages + " - 2);").line("__syncthreads();");
    code.line(load + "(" + used + ", " + limit + " - " + depth0 + " - (" + stages + " - 1) * " +
              bk + ");");
    code.line("__pipeline_commit();");
    printTerms(terms, isEdge);
    code.line(used + " = " + stage + ";");
    code.line(stage + " = " + stage + " + 1 < " + stages + " ? " + stage + " + 1 : 0;").close();
  }

  void printLoop() {
    std::string rest = limit + " - " + depth0;
    if (hasTables()) {
      printDescribe("0", "0");
      code.line("__syncthreads();");
    }
    code.unroll().open("for (int " + stage + " = 0; " + stage + " < " + stages + " - 1; ++" +
                       stage + ")");
    code.line(load + "(" + stage + ", " + limit + " - " + stage + " * " + bk + ");")
        .line("__pipeline_commit();");
    if (hasTables())
      code.line("__syncthreads();");
    code.close();
    code.line("int " + depth0 + " = 0, " + stage + " = 0, " + used + " = " + stages +
              " - 1; // the stage of this tile, and one that can be overwritten");
    printTileLoop(full + " - " + depth0 + " >= " + bk, ownTerms(), false);
    if (contraction.length)
      return printTileLoop(depth0 + " < " + limit, "min(" + bk + ", " + rest + ")", true);
    code.line("__pipeline_wait_prior(0);").line("__syncthreads();");
    printTerms(ownRest(rest), true);
  }
};

} // namespace

llvm::Expected<GeneratedKernel> kbopt::printAsyncContraction(const Contraction &contraction,
                                                             const ContractionShape &shape,
                                                             StringRef name, const ChipInfo &chip) {
  return AsyncPrinter(contraction, shape, name).print(shape.residentBlocks(contraction, chip));
}
