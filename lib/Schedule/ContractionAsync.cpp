//===- ContractionAsync.cpp - A contraction fed by cp.async -----------------===//
//
// Owns the kernel whose operand tiles are copied to shared memory past the registers, several tiles ahead. It
// wins where a chip is filled by few or small tiles. Sums as in ContractionSimt.cpp.
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
    load = text.freshName("load"), multiply = text.freshName("multiply"), stages = text.freshName("STAGES"),
    part = text.freshName("part");
    printPosition();
    code.line("constexpr int " + stages + " = " + std::to_string(shape.stages) + ";");
    printTiles();
    printThread();
    printLoad();
    printInitialValues();
    printMultiply();
    printLoop();
    printAfter();
    kernel.definition = "#include <cuda_pipeline_primitives.h>\n\n";
    return finish("// A block computes " + std::to_string(shape.bm) + " x " + std::to_string(shape.bn) +
                      " outputs, a thread " + std::to_string(shape.tm) + " x " + std::to_string(shape.tn) +
                      " of them in registers, from tiles in shared memory\n// that are copied " +
                      std::to_string(shape.stages - 1) +
                      " tiles ahead. Rows and columns past the end read the last one; what they sum is not stored.\n",
                  blocks);
  }

private:
  std::string load, multiply, stages, part;
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
      std::string extents = "[" + stages + "]" +
                            (!tile.isTransposed ? "[" + side + "][" + bk + " + 4]"
                                                : "[" + bk + "][" + side + (tile.tile->alongSide ? "]" : " + 4]"));
      if (!isDynamic)
        code.line("__shared__ __align__(16) " + type + " " + tile.shared + extents + ";");
      else
        code.line("auto &" + tile.shared + " = *reinterpret_cast<" + type + " (*)" + extents + ">(" + memory + used +
                  ");");
      used += " + sizeof(" + tile.shared + ")";
    }
  }

  void printLoad() {
    code.line("auto " + load + " = [&](int " + stage + ", int " + depth0 + ") {").indent();
    for (const NamedTile &tile : tiles) {
      openTileLoop(tile);
      auto [side, inner] = placeOf(tile);
      std::string element = printElement(tile),
                  target = tile.shared + "[" + stage + "]" +
                           (tile.isTransposed ? "[" + inner + "][" + side + "]" : "[" + side + "][" + inner + "]");
      code.line("__pipeline_memcpy_async(&" + target + ", &" + element + ", " +
                std::to_string(tile.width * tile.tile->operand.getBytes()) + ");");
      code.close();
    }
    code.outdent().line("};");
  }

  void printFetch(const NamedTile &tile, StringRef step) {
    bool isRow = tile.tile->isRow, isApart = isRow ? rowsApart : columnsApart;
    const std::string &index = isRow ? i : j, &many = isRow ? tm : tn;
    std::string type = tile.tile->operand.getType().str();
    std::string side =
        (isRow ? rowOfThread : columnOfThread) + " + " + index +
        (isApart ? (isRow ? " * 4" : " * 8") : std::string(" / 4 * ") + (isRow ? "16" : "32") + " + " + index + " % 4");
    std::string loop = "for (int " + index + " = 0; " + index + " < " + many + "; ++" + index + ")";
    if (tile.isTransposed) {
      code.line(type + " " + tile.registers + "[" + many + "];").unroll().open(loop);
      code.line(tile.registers + "[" + index + "] = " + tile.shared + "[" + stage + "][" + step + "][" + side + "];")
          .close();
      return;
    }
    std::string vector = vectorOf(tile);
    code.line("alignas(16) " + type + " " + tile.registers + "[" + many + "][" + std::to_string(tile.width) + "];")
        .unroll()
        .open(loop);
    code.line("*reinterpret_cast<" + vector + " *>(" + tile.registers + "[" + index + "]) = *reinterpret_cast<const " +
              vector + " *>(&" + tile.shared + "[" + stage + "][" + side + "][" + step + "]);")
        .close();
  }

  void printMultiply() {
    code.line("auto " + multiply + " = [&](int " + stage + ", int " + step + (usesDepth ? ", int " + depth0 : "") +
              (contraction.length ? ", bool " + edge : "") + ") {")
        .indent();
    for (const NamedTile &tile : tiles)
      if (!tile.isTransposed)
        printFetch(tile, step);
    if (group > 1)
      code.unroll().open("for (int " + part + " = 0; " + part + " < " + std::to_string(group) + "; ++" + part + ")");
    std::string at = group > 1 ? step + " + " + part : step;
    if (usesDepth)
      code.line("const int " + depth + " = " + depth0 + " + " + at + ";");
    if (usesDepth)
      printDigits();
    for (const NamedTile &tile : tiles)
      if (tile.isTransposed)
        printFetch(tile, at);
    printTerm([&](const NamedTile &tile) {
      return tile.registers + "[" + (tile.tile->isRow ? i : j) + "]" + (tile.isTransposed ? "" : "[" + part + "]");
    });
    if (group > 1)
      code.close();
    code.outdent().line("};");
  }

  void printLoop() {
    std::string left = limit + " - " + depth0, ahead = "(" + stages + " - 1)",
                by = group > 1 ? step + " += " + std::to_string(group) : "++" + step;
    auto call = [&](bool isEdge) {
      return multiply + "(" + stage + ", " + step + (usesDepth ? ", " + depth0 : "") +
             (contraction.length ? isEdge ? ", true" : ", false" : "") + ");";
    };
    code.unroll().open("for (int " + stage + " = 0; " + stage + " < " + stages + " - 1; ++" + stage + ")");
    code.open("if (" + stage + " * " + bk + " < " + limit + ")")
        .line(load + "(" + stage + ", " + stage + " * " + bk + ");")
        .close();
    code.line("__pipeline_commit();").close();
    code.open("for (int " + depth0 + " = 0, " + stage + " = 0; " + depth0 + " < " + limit + "; " + depth0 +
              " += " + bk + ", " + stage + " = (" + stage + " + 1) % " + stages + ")");
    code.line("__pipeline_wait_prior(" + stages + " - 2);").line("__syncthreads();");
    code.open("if (" + left + " > " + ahead + " * " + bk + ")");
    code.line(load + "((" + stage + " + " + stages + " - 1) % " + stages + ", " + depth0 + " + " + ahead + " * " + bk +
              ");")
        .close();
    code.line("__pipeline_commit();");
    code.open("if (" + full + " - " + depth0 + " >= " + bk + ")")
        .unroll()
        .open("for (int " + step + " = 0; " + step + " < " + bk + "; " + by + ")")
        .line(call(false))
        .close()
        .close();
    code.line("else")
        .unroll(1)
        .indent()
        .open("for (int " + step + " = 0; " + step + " < " +
              (contraction.length ? "min(" + bk + ", " + left + ")" : left) + "; " + by + ")")
        .line(call(true))
        .close()
        .outdent();
    code.close();
  }
};

} // namespace

llvm::Expected<GeneratedKernel> kbopt::printAsyncContraction(const Contraction &contraction,
                                                             const ContractionShape &shape, StringRef name,
                                                             const ChipInfo &chip) {
  return AsyncPrinter(contraction, shape, name).print(shape.residentBlocks(contraction, chip));
}
