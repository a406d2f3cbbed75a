//===- ContractionSimt.cpp - A contraction on the arithmetic units ----------===//
//
// Owns the kernel whose threads keep a tile of outputs in registers: operand tiles wait transposed in shared
// memory, and the next ones are loaded into registers meanwhile. One accumulator per output and ascending
// terms: the sums are those of the given kernel, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "ContractionPrinter.h"

using namespace kbopt;
using namespace mlir;

namespace {

class SimtPrinter : ContractionPrinter {
public:
  SimtPrinter(const Contraction &contraction, const ContractionShape &shape, StringRef name)
      : ContractionPrinter(contraction, shape, name) {}

  llvm::Expected<GeneratedKernel> print(int64_t blocks) {
    load = text.freshName("load"), keep = text.freshName("keep");
    fetch = text.freshName("fetch"), accumulate = text.freshName("accumulate");
    printPosition();
    printTiles();
    printThread();
    printLoad();
    printKeep();
    printInitialValues();
    printFetch();
    printAccumulate();
    printLoop();
    printAfter();
    return finish(
        "// A block computes " + std::to_string(shape.bm) + " x " + std::to_string(shape.bn) + " outputs, a thread " +
            std::to_string(shape.tm) + " x " + std::to_string(shape.tn) +
            " of them in registers, from tiles in shared memory:\n// an element that is loaded once is used " +
            (shape.bm == shape.bn ? std::to_string(shape.bm)
                                  : std::to_string(shape.bn) + " or " + std::to_string(shape.bm)) +
            " times. The next tiles are loaded meanwhile. Rows and columns past\n// the end read the last one; what "
            "they sum is not stored.\n",
        blocks);
  }

private:
  std::string load, keep, fetch, accumulate;

  void printTiles() {
    for (const NamedTile &tile : tiles) {
      std::string pad = tile.tile->alongSide ? "" : " + 4";
      code.line("__shared__ __align__(16) " + tile.tile->operand.getType() + " " + tile.shared + "[2][" + bk + "][" +
                sideSize(*tile.tile) + pad + "];");
    }
  }

  void printLoad() {
    for (const NamedTile &tile : tiles)
      code.line((tile.isVector() ? "alignas(16) " : "") + tile.tile->operand.getType() + " " + tile.next + "[" +
                perThread(tile) + "]" + (tile.isVector() ? "[" + std::to_string(tile.width) + "];" : ";"));
    code.line("auto " + load + " = [&](int " + depth0 + ") {").indent();
    for (const NamedTile &tile : tiles) {
      openTileLoop(tile);
      std::string element = printElement(tile), target = tile.next + "[" + chunk + "]", type = vectorOf(tile);
      code.line(tile.isVector() ? "*reinterpret_cast<" + type + " *>(" + target + ") = *reinterpret_cast<const " +
                                      type + " *>(&" + element + ");"
                                : target + " = " + element + ";");
      code.close();
    }
    code.outdent().line("};");
  }

  void printKeep() {
    code.line("auto " + keep + " = [&](int " + stage + ") {").indent();
    for (const NamedTile &tile : tiles) {
      auto [side, inner] = placeOf(tile);
      openTileLoop(tile);
      std::string target = tile.shared + "[" + stage + "]", from = tile.next + "[" + chunk + "]", type = vectorOf(tile);
      if (!tile.isVector()) {
        code.line(target + "[" + inner + "][" + side + "] = " + from + ";");
      } else if (tile.tile->alongSide) {
        code.line("*reinterpret_cast<" + type + " *>(&" + target + "[" + inner + "][" + side +
                  "]) = *reinterpret_cast<" + type + " *>(" + from + ");");
      } else {
        code.unroll()
            .line("for (int " + step + " = 0; " + step + " < " + std::to_string(tile.width) + "; ++" + step + ")")
            .indent();
        code.line(target + "[" + inner + " + " + step + "][" + side + "] = " + from + "[" + step + "];").outdent();
      }
      code.close();
    }
    code.outdent().line("};");
  }

  void printFetch() {
    for (const NamedTile &tile : tiles)
      code.line(tile.tile->operand.getType() + " " + tile.registers + "[2][" + (tile.tile->isRow ? tm : tn) + "];");
    code.line("auto " + fetch + " = [&](int " + slot + ", int " + stage + ", int " + step + ") {").indent();
    for (const NamedTile &tile : tiles) {
      bool isRow = tile.tile->isRow;
      const std::string &index = isRow ? i : j;
      code.unroll()
          .line("for (int " + index + " = 0; " + index + " < " + (isRow ? tm : tn) + "; ++" + index + ")")
          .indent();
      code.line(tile.registers + "[" + slot + "][" + index + "] = " + tile.shared + "[" + stage + "][" + step + "][" +
                (isRow ? rowOfThread : columnOfThread) + " + " + index + " / 4 * " + (isRow ? "16" : "32") + " + " +
                index + " % 4];")
          .outdent();
    }
    code.outdent().line("};");
  }

  void printAccumulate() {
    code.line("auto " + accumulate + " = [&](int " + slot + (usesDepth ? ", int " + depth : "") +
              (contraction.length ? ", bool " + edge : "") + ") {")
        .indent();
    if (usesDepth)
      printDigits();
    printTerm(
        [&](const NamedTile &tile) { return tile.registers + "[" + slot + "][" + (tile.tile->isRow ? i : j) + "]"; });
    code.outdent().line("};");
  }

  void printLoop() {
    std::string left = limit + " - " + depth0, more = "if (" + left + " > " + bk + ")";
    auto call = [&](StringRef slot, StringRef step, bool isEdge) {
      return accumulate + "(" + slot.str() + (usesDepth ? ", " + depth0 + " + " + step.str() : "") +
             (contraction.length ? isEdge ? ", true" : ", false" : "") + ");";
    };
    code.open("if (" + limit + " > 0)").line(load + "(0);").line(keep + "(0);").close();
    code.line("__syncthreads();");
    code.open("for (int " + depth0 + " = 0, " + stage + " = 0; " + depth0 + " < " + limit + "; " + depth0 +
              " += " + bk + ", " + stage + " ^= 1)");
    code.open(more).line(load + "(" + depth0 + " + " + bk + ");").close();
    code.open("if (" + full + " - " + depth0 + " >= " + bk + ")");
    code.line(fetch + "(0, " + stage + ", 0);");
    code.unroll().open("for (int " + step + " = 0; " + step + " < " + bk + "; ++" + step + ")");
    code.open("if (" + step + " + 1 < " + bk + ")")
        .line(fetch + "((" + step + " + 1) % 2, " + stage + ", " + step + " + 1);")
        .close();
    code.line(call(step + " % 2", step, false)).close();
    code.close().line("else").unroll(1).indent();
    code.open("for (int " + step + " = 0; " + step + " < " +
              (contraction.length ? "min(" + bk + ", " + left + ")" : left) + "; ++" + step + ")");
    code.line(fetch + "(0, " + stage + ", " + step + ");").line(call("0", step, true)).close();
    code.outdent();
    code.open(more).line(keep + "(" + stage + " ^ 1);").line("__syncthreads();").close();
    code.close();
  }
};

} // namespace

llvm::Expected<GeneratedKernel> kbopt::printSimtContraction(const Contraction &contraction,
                                                            const ContractionShape &shape, StringRef name,
                                                            const ChipInfo &chip) {
  return SimtPrinter(contraction, shape, name).print(shape.residentBlocks(contraction, chip));
}
