//===- ContractionSimt.cpp - A contraction on the arithmetic units ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the kernel whose threads keep a tile of outputs in registers: operand tiles wait transposed
// in shared memory, and the next ones are loaded into registers meanwhile. One accumulator per
// output and ascending terms: the sums are those of the given kernel, bit for bit.
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
    if (isSplit())
      printParts();
    printAfter();
    return finish(
        "// A block computes " + std::to_string(shape.bm) + " x " + std::to_string(shape.bn) +
            " outputs, a thread " + std::to_string(shape.tm) + " x " + std::to_string(shape.tn) +
            " of them in registers, from tiles in shared memory:\n// an element that is loaded "
            "once is used " +
            (shape.bm == shape.bn ? std::to_string(shape.bm)
                                  : std::to_string(shape.bn) + " or " + std::to_string(shape.bm)) +
            " times. The next tiles are loaded meanwhile. Rows and columns past\n// the end read "
            "the last one; what "
            "they sum is not stored.\n",
        blocks);
  }

private:
  /// Of a thread in the unrolled body of the loop: longer bodies do not fit the instruction cache.
  static constexpr int64_t mostMultiplies = 1024;
  std::string load, keep, fetch, accumulate;

  void printTiles() {
    for (const NamedTile &tile : tiles) {
      std::string pad = tile.tile->alongSide ? "" : " + 4";
      code.line("__shared__ __align__(16) " + tile.tile->operand.getType() + " " + tile.shared +
                "[2][" + bk + "][" + sideSize(*tile.tile) + pad + "];");
    }
  }

  void printLoad() {
    printWalks();
    for (const NamedTile &tile : tiles)
      code.line((tile.isVector() ? "alignas(16) " : "") + tile.tile->operand.getType() + " " +
                tile.next + "[" + perThread(tile) + "]" +
                (tile.isVector() ? "[" + std::to_string(tile.width) + "]" : "") + " = {};");
    code.line("auto " + load + " = [&](int " + left + ") {").indent();
    printFirstTerm();
    for (const NamedTile &tile : tiles)
      printCopies(tile, [&](StringRef address) {
        std::string target = tile.next + "[" + chunk + "]", type = vectorOf(tile),
                    from = address.contains(' ') && !address.starts_with("&")
                               ? "(" + address.str() + ")"
                               : address.str();
        std::string element = tile.hasDigits             ? loadAt(tile, address)
                              : address.starts_with("&") ? address.drop_front().str()
                                                         : "*" + from;
        if (tile.isVector())
          code.line("*reinterpret_cast<" + type + " *>(" + target +
                    ") = " + (tile.guard.empty() ? "" : tile.guard + " ? ") +
                    "*reinterpret_cast<const " + type + " *>(" + address + ")" +
                    (tile.guard.empty() ? "" : " : " + type + "()") + ";");
        else
          code.line(target + " = " + (tile.guard.empty() ? "" : tile.guard + " ? ") + element +
                    (tile.guard.empty() ? "" : " : " + zeroOf(tile)) + ";");
      });
    if (hasTables())
      printDescribe(slot + " ^ 1", limit + " - " + left + " + " + bk);
    code.outdent().line("};");
  }

  void printKeep() {
    code.line("auto " + keep + " = [&](int " + stage + ") {").indent();
    for (const NamedTile &tile : tiles) {
      auto [side, inner] = placeOf(tile);
      openTileLoop(tile);
      std::string target = tile.shared + "[" + stage + "]", from = tile.next + "[" + chunk + "]",
                  type = vectorOf(tile);
      if (!tile.isVector()) {
        code.line(target + "[" + inner + "][" + side + "] = " + from + ";");
      } else if (tile.tile->alongSide) {
        code.line("*reinterpret_cast<" + type + " *>(&" + target + "[" + inner + "][" + side +
                  "]) = *reinterpret_cast<" + type + " *>(" + from + ");");
      } else {
        code.unroll()
            .line("for (int " + step + " = 0; " + step + " < " + std::to_string(tile.width) +
                  "; ++" + step + ")")
            .indent();
        code.line(target + "[" + inner + " + " + step + "][" + side + "] = " + from + "[" + step +
                  "];")
            .outdent();
      }
      code.close();
    }
    code.outdent().line("};");
  }

  void printFetch() {
    for (const NamedTile &tile : tiles)
      code.line(tile.tile->operand.getType() + " " + tile.registers + "[2][" +
                (tile.tile->isRow ? tm : tn) + "];");
    code.line("auto " + fetch + " = [&](int " + slot + ", int " + stage + ", int " + step + ") {")
        .indent();
    for (const NamedTile &tile : tiles) {
      bool isRow = tile.tile->isRow;
      const std::string &index = isRow ? i : j;
      code.unroll()
          .line("for (int " + index + " = 0; " + index + " < " + (isRow ? tm : tn) + "; ++" +
                index + ")")
          .indent();
      code.line(tile.registers + "[" + slot + "][" + index + "] = " + tile.shared + "[" + stage +
                "][" + step + "][" + (isRow ? rowOfThread : columnOfThread) + " + " + index +
                " / 4 * " + (isRow ? "16" : "32") + " + " + index + " % 4];")
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
    printTerm([&](const NamedTile &tile) {
      return tile.registers + "[" + slot + "][" + (tile.tile->isRow ? i : j) + "]";
    });
    code.outdent().line("};");
  }

  void printStep(StringRef slot, StringRef step, bool isEdge) {
    code.line(accumulate + "(" + slot + (usesDepth ? ", " + depth0 + " + " + ownTerm(step) : "") +
              (contraction.length ? isEdge ? ", true" : ", false" : "") + ");");
  }

  /// A loop over tiles as long as \p condition holds; the next tile is loaded before \p body and
  /// kept after it.
  void printTileLoop(const llvm::Twine &condition, llvm::function_ref<void()> body) {
    code.open("for (; " + condition + "; " + depth0 + " += " + bk + ", " + stage + " ^= 1)");
    code.line(load + "(" + limit + " - " + depth0 + " - " + bk + ");");
    body();
    code.line(keep + "(" + stage + " ^ 1);").line("__syncthreads();").close();
  }

  /// The first \p many terms of the tile at hand, the next one on its way while one is used.
  void printTerms(const std::string &many, int64_t turns) {
    code.line(fetch + "(0, " + stage + ", " + (isSplit() ? firstTerm : "0") + ");");
    code.unroll(turns).open("for (int " + step + " = 0; " + step + " < " + many + "; ++" + step +
                            ")");
    code.open("if (" + step + " + 1 < " + many + ")")
        .line(fetch + "((" + step + " + 1) % 2, " + stage + ", " + ownTerm(step + " + 1") + ");")
        .close();
    printStep(step + " % 2", step, false);
    code.close();
  }

  /// Terms of the last tile, where their number is known.
  std::optional<int64_t> constantRest() const {
    auto terms = contraction.length ? std::nullopt : contraction.termCount().getConstant();
    bool isShort = terms && *terms % shape.bk * shape.tm * shape.tn <= 2 * mostMultiplies;
    return isShort && !isSplit() ? std::optional(*terms % shape.bk) : std::nullopt;
  }

  void printLoop() {
    if (hasTables()) {
      printDescribe("0", "0");
      code.line("__syncthreads();");
    }
    code.line(load + "(" + limit + ");").line(keep + "(0);").line("__syncthreads();");
    code.line("int " + depth0 + " = 0, " + stage + " = 0;");
    printTileLoop(full + " - " + depth0 + " >= " + bk, [&] {
      int64_t turns = std::max<int64_t>(2, mostMultiplies / (shape.tm * shape.tn));
      printTerms(ownTerms(), turns < shape.bk / shape.split ? turns : 0);
    });
    if (std::optional<int64_t> rest = constantRest())
      return *rest ? printTerms(std::to_string(*rest), 0) : void();
    std::string rest = limit + " - " + depth0;
    auto edge = [&] {
      code.unroll(1).open("for (int " + step + " = 0; " + step + " < " +
                          (contraction.length ? "min(" + bk + ", " + rest + ")" : ownRest(rest)) +
                          "; ++" + step + ")");
      code.line(fetch + "(0, " + stage + ", " + ownTerm(step) + ");");
      printStep("0", step, true);
      code.close();
    };
    if (contraction.length)
      printTileLoop(depth0 + " < " + limit, edge);
    else
      edge();
  }
};

} // namespace

llvm::Expected<GeneratedKernel> kbopt::printSimtContraction(const Contraction &contraction,
                                                            const ContractionShape &shape,
                                                            StringRef name, const ChipInfo &chip) {
  return SimtPrinter(contraction, shape, name).print(shape.residentBlocks(contraction, chip));
}
