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

  llvm::Expected<GeneratedKernel> print() {
    for (const Operation *op : contraction.term)
      usesDepth |= readsDirectly(const_cast<Operation *>(op));
    at = text.freshName("at"), load = text.freshName("load"), keep = text.freshName("keep");
    fetch = text.freshName("fetch"), accumulate = text.freshName("accumulate"), step = text.freshName("step");
    chunk = text.freshName("chunk");
    lane = text.freshName("lane"), warp = text.freshName("warp");
    printPosition();
    printThread();
    printLoad();
    printKeep();
    printInitialValues();
    printFetch();
    printAccumulate();
    printLoop();
    printAfter();
    return wrap();
  }

private:
  std::string at, load, keep, fetch, accumulate, step, lane, warp, chunk;
  bool usesDepth = false; ///< the term reads something that lies in no tile

  bool readsDirectly(Operation *op) {
    for (auto operand : operandsOf(op).getAsRange<kb::OperandAttr>())
      if (!contraction.tileOf(operand))
        return true;
    return false;
  }

  std::string perThread(const NamedTile &tile) {
    return sideSize(*tile.tile) + " * " + bk + (tile.isVector() ? " / " + std::to_string(tile.width) : "") + " / " + threads;
  }

  void printThread() {
    for (const NamedTile &tile : tiles) {
      std::string pad = tile.tile->alongSide ? "" : " + 4";
      code.line("__shared__ __align__(16) " + tile.tile->operand.getType() + " " + tile.shared + "[2][" + bk + "][" + sideSize(*tile.tile) + pad + "];");
    }
    code.line("const int " + lane + " = threadIdx.x % 32, " + warp + " = threadIdx.x / 32; // 4 x 8 lanes of a warp");
    std::string across = "(" + bn + " / (8 * " + tn + "))";
    code.line("const int " + rowOfThread + " = " + warp + " / " + across + " * (4 * " + tm + ") + " + lane + " / 8 * 4;");
    code.line("const int " + columnOfThread + " = " + warp + " % " + across + " * (8 * " + tn + ") + " + lane + " % 8 * 4;");
  }

  /// Where access \p at of \p tile lies: along the side, and along the depth.
  std::pair<std::string, std::string> placeOf(const NamedTile &tile) {
    std::string width = std::to_string(tile.width), times = tile.isVector() ? " * " + width : "";
    std::string inner = tile.tile->alongSide ? sideSize(*tile.tile) : bk;
    inner = tile.isVector() ? "(" + inner + " / " + width + ")" : inner;
    std::string slow = at + " / " + inner, fast = at + " % " + inner + times;
    return tile.tile->alongSide ? std::pair(fast, slow) : std::pair(slow, fast);
  }

  void openTileLoop(const NamedTile &tile) {
    code.unroll().open("for (int " + chunk + " = 0; " + chunk + " < " + perThread(tile) + "; ++" + chunk + ")");
    code.line("const int " + at + " = threadIdx.x + " + chunk + " * " + threads + ";");
  }

  void printLoad() {
    for (const NamedTile &tile : tiles)
      code.line((tile.isVector() ? "alignas(16) " : "") + tile.tile->operand.getType() + " " + tile.next + "[" + perThread(tile) + "]" +
                (tile.isVector() ? "[" + std::to_string(tile.width) + "];" : ";"));
    code.line("auto " + load + " = [&](int " + depth0 + ") {").indent();
    for (const NamedTile &tile : tiles) {
      auto [side, inner] = placeOf(tile);
      std::string sideStep = tile.isVector() && tile.tile->alongSide ? std::to_string(tile.width) : "1";
      std::string depthStep = tile.isVector() && tile.tile->alongDepth ? std::to_string(tile.width) : "1";
      openTileLoop(tile);
      code.line("const int " + sideName(*tile.tile) + " = min(" + side0(*tile.tile) + " + " + side + ", " + sideExtent(*tile.tile) + " - " + sideStep + "), " + depth +
                " = min(" + depth0 + " + " + inner + ", " + length + " - " + depthStep + ");");
      printDigits();
      std::string element = text.operand(tile.tile->operand), target = tile.next + "[" + chunk + "]", type = vectorOf(tile);
      code.line(tile.isVector() ? "*reinterpret_cast<" + type + " *>(" + target + ") = *reinterpret_cast<const " + type + " *>(&" + element + ");"
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
        code.line("*reinterpret_cast<" + type + " *>(&" + target + "[" + inner + "][" + side + "]) = *reinterpret_cast<" + type + " *>(" + from + ");");
      } else {
        code.unroll().line("for (int " + step + " = 0; " + step + " < " + std::to_string(tile.width) + "; ++" + step + ")").indent();
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
      code.unroll().line("for (int " + index + " = 0; " + index + " < " + (isRow ? tm : tn) + "; ++" + index + ")").indent();
      code.line(tile.registers + "[" + slot + "][" + index + "] = " + tile.shared + "[" + stage + "][" + step + "][" +
                (isRow ? rowOfThread : columnOfThread) + " + " + index + " / 4 * " + (isRow ? "16" : "32") + " + " + index + " % 4];").outdent();
    }
    code.outdent().line("};");
  }

  void printAccumulate() {
    code.line("auto " + accumulate + " = [&](int " + slot + (usesDepth ? ", int " + depth : "") + ") {").indent();
    if (usesDepth)
      printDigits();
    code.unroll().open("for (int " + i + " = 0; " + i + " < " + tm + "; ++" + i + ")");
    code.unroll().open("for (int " + j + " = 0; " + j + " < " + tn + "; ++" + j + ")");
    StatementPrinter print{text, code};
    print.replaced = [&](kb::OperandAttr operand) -> std::string {
      for (const NamedTile &tile : tiles)
        if (tile.tile->operand == operand)
          return tile.registers + "[" + slot + "][" + (tile.tile->isRow ? i : j) + "]";
      return "";
    };
    for (const auto &[sum, array] : sums)
      print.partial[sum] = array + "[" + i + "][" + j + "]";
    for (Operation *op : contraction.term)
      print.print(op);
    code.close().close().outdent().line("};");
  }

  void printLoop() {
    std::string left = length + " - " + depth0, more = "if (" + left + " > " + bk + ")";
    auto call = [&](StringRef slot, StringRef step) {
      return accumulate + "(" + slot.str() + (usesDepth ? ", " + depth0 + " + " + step.str() : "") + ");";
    };
    code.open("if (" + length + " > 0)").line(load + "(0);").line(keep + "(0);").close();
    code.line("__syncthreads();");
    code.open("for (int " + depth0 + " = 0, " + stage + " = 0; " + depth0 + " < " + length + "; " + depth0 + " += " + bk + ", " + stage + " ^= 1)");
    code.line(more).indent().line(load + "(" + depth0 + " + " + bk + ");").outdent();
    code.open("if (" + left + " >= " + bk + ")");
    code.line(fetch + "(0, " + stage + ", 0);");
    code.unroll().open("for (int " + step + " = 0; " + step + " < " + bk + "; ++" + step + ")");
    code.line("if (" + step + " + 1 < " + bk + ")").indent().line(fetch + "((" + step + " + 1) % 2, " + stage + ", " + step + " + 1);").outdent();
    code.line(call(step + " % 2", step)).close();
    code.close().line("else").indent();
    code.unroll(1).open("for (int " + step + " = 0; " + step + " < " + left + "; ++" + step + ")");
    code.line(fetch + "(0, " + stage + ", " + step + ");").line(call("0", step)).close();
    code.outdent();
    code.open(more).line(keep + "(" + stage + " ^ 1);").line("__syncthreads();").close();
    code.close();
  }

  llvm::Expected<GeneratedKernel> wrap() {
    kernel.sharedBytes = shape.sharedBytes(contraction);
    kernel.estimatedRegisters = shape.registers(contraction);
    std::string comment = "// A block computes " + std::to_string(shape.bm) + " x " + std::to_string(shape.bn) + " outputs, a thread " + std::to_string(shape.tm) + " x " +
                          std::to_string(shape.tn) + " of them in registers: each loaded element is used\n// " +
                          (shape.bm == shape.bn ? std::to_string(shape.bm) : std::to_string(shape.bn) + " or " + std::to_string(shape.bm)) +
                          " times. The next tiles are loaded while the present ones are used. Rows and columns past the\n// end read the last one; what they sum is not stored.\n";
    auto done = finish(comment);
    if (!done)
      return done.takeError();
    done->definition += "__global__ void __launch_bounds__(" + std::to_string(shape.threads()) + ", " + std::to_string(blocks) + ")\n" + done->name + "(" +
                        text.parameters(unaliased) + ") {\n" + code.take() + "}\n";
    return done;
  }

public:
  int64_t blocks = 1;
};

} // namespace

llvm::Expected<GeneratedKernel> kbopt::printSimtContraction(const Contraction &contraction, const ContractionShape &shape,
                                                            StringRef name, const ChipInfo &chip) {
  SimtPrinter printer(contraction, shape, name);
  printer.blocks = shape.residentBlocks(contraction, chip);
  return printer.print();
}
