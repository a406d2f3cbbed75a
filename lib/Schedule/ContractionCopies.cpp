//===- ContractionCopies.cpp - Tiles on their way to shared memory ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns which elements of an operand's tile a thread copies and where it finds them: one place of
// every tile, so that a pointer and constant distances suffice, or a place that is computed for
// each access.
//
//===----------------------------------------------------------------------===//

#include "ContractionPrinter.h"

using namespace kbopt;
using namespace mlir;

void ContractionPrinter::chooseWalks() {
  for (NamedTile &named : tiles) {
    const ContractionTile &tile = *named.tile;
    int64_t inner = tile.alongSide ? (tile.isRow ? shape.bm : shape.bn) / named.width
                                   : shape.bk / (named.width * named.terms);
    named.hasDigits = tile.hasDigits && shape.threads() % inner == 0;
    kb::ExprAttr stride = tile.flat
                              ? gainAlong(tile.flat.getOffset(), contraction.depth.back().name)
                              : kb::ExprAttr();
    named.walks = stride && shape.threads() % inner == 0 && stride.getConstant().value_or(1) > 0;
    if (named.walks && stride.getConstant() != 1)
      named.stride = text.offset(stride);
  }
}

/// `terms * stride` in size_t.
std::string ContractionPrinter::times(StringRef terms, const NamedTile &tile) const {
  if (tile.stride.empty())
    return terms.str();
  bool isNumber = !StringRef(tile.stride).empty() && llvm::all_of(tile.stride, llvm::isDigit);
  std::string stride = CudaText::isAtom(tile.stride) ? tile.stride : "(" + tile.stride + ")";
  return terms.str() + " * " + (isNumber ? "" : "(size_t)") + stride;
}

std::string ContractionPrinter::perThread(const NamedTile &tile) const {
  if (tile.walks || tile.hasDigits)
    return (tile.tile->alongSide ? bk : sideSize(*tile.tile)) + " / " + tile.apart;
  return sideSize(*tile.tile) + " * " + bk +
         (tile.isVector() ? " / " + std::to_string(tile.width) : "") + " / " + threads;
}

std::pair<std::string, std::string> ContractionPrinter::placeOf(const NamedTile &tile) const {
  if (tile.walks || tile.hasDigits) {
    std::string more = " + " + chunk + " * " + tile.apart;
    return tile.tile->alongSide ? std::pair(tile.side, tile.term + more)
                                : std::pair(tile.side + more, tile.term);
  }
  std::string width = std::to_string(tile.width), times = tile.isVector() ? " * " + width : "";
  std::string inner = tile.tile->alongSide ? sideSize(*tile.tile) : bk;
  inner = tile.isVector() ? "(" + inner + " / " + width + ")" : inner;
  std::string slow = at + " / " + inner, fast = at + " % " + inner + times;
  return tile.tile->alongSide ? std::pair(fast, slow) : std::pair(slow, fast);
}

void ContractionPrinter::printWalks() {
  std::string distances;
  for (const NamedTile &tile : tiles) {
    if (!tile.walks && !tile.hasDigits)
      continue;
    const bool alongSide = tile.tile->alongSide;
    int64_t each = alongSide ? tile.width : tile.width * tile.terms,
            step = alongSide ? tile.terms : 1;
    auto times = [](int64_t factor) { return factor > 1 ? " * " + std::to_string(factor) : ""; };
    std::string inner = alongSide ? sideSize(*tile.tile) : bk;
    inner = each > 1 ? "(" + inner + " / " + std::to_string(each) + ")" : inner;
    distances += (distances.empty() ? "" : ", ") + tile.apart + " = " + threads + " / " + inner +
                 times(step);
    // Signed: nvcc then keeps these values in registers, which is worth 3 to 5 % of large products.
    std::string slow = "(int)threadIdx.x / " + inner + times(step),
                fast = "(int)threadIdx.x % " + inner + times(each);
    code.line("const int " + tile.side + " = " + (alongSide ? fast : slow) + ", " + tile.term +
              " = " + (alongSide ? slow : fast) + ";");
  }
  if (!distances.empty())
    code.line("constexpr int " + distances + "; // between two of its accesses to a tile");
  for (NamedTile &tile : tiles) {
    if (tile.hasDigits)
      printDigitCopies(tile);
    if (!tile.walks)
      continue;
    std::string step = tile.isVector() && tile.tile->alongSide ? std::to_string(tile.width) : "1",
                name = sideName(*tile.tile),
                pointer = "const " + tile.tile->operand.getType().str() + " *" + tile.from;
    std::string place = side0(*tile.tile) + " + " + placeOf(tile).first;
    // Past the end any element will do. cp.async of many lanes from one address is slow: a product
    // whose last tiles are nearly empty took up to 2.2 times as long (measured on an H100).
    std::string clamped = shape.onMatrixUnits() && !contraction.length
                              ? "(" + place + ") % " + sideExtent(*tile.tile)
                              : "min(" + place + ", " + sideExtent(*tile.tile) + " - " + step + ")",
                last = contraction.depth.back().name;
    text.setName(last, tile.term);
    if (tile.tile->alongSide) {
      code.line(pointer + ";").open();
      declareSide(tile.tile->isRow, clamped);
      code.line(tile.from + " = &" + text.operand(tile.tile->flat) + ";").close();
    } else {
      code.line(pointer + "[" + perThread(tile) + "];");
      openTileLoop(tile);
      declareSide(tile.tile->isRow, clamped);
      code.line(tile.from + "[" + chunk + "] = &" + text.operand(tile.tile->flat) + ";").close();
    }
    text.setName(last, last);
  }
}

std::string ContractionPrinter::walkedAddress(const NamedTile &tile) const {
  return tile.tile->alongSide ? tile.from + " + " + times(chunk + " * " + tile.apart, tile)
                              : tile.from + "[" + chunk + "]";
}

void ContractionPrinter::openTileLoop(const NamedTile &tile) {
  code.unroll().open("for (int " + chunk + " = 0; " + chunk + " < " + perThread(tile) + "; ++" +
                     chunk + ")");
  if (!tile.walks && !tile.hasDigits)
    code.line("const int " + at + " = threadIdx.x + " + chunk + " * " + threads + ";");
}

void ContractionPrinter::printFirstTerm() {
  if (hasTables())
    code.line("const int " + slot + " = (" + limit + " - " + left + ") / " + bk + " % 2;");
  if (llvm::any_of(tiles, [](const NamedTile &tile) { return !tile.walks && !tile.hasDigits; }))
    code.line("const int " + depth0 + " = " + limit + " - " + left + ";");
}

void ContractionPrinter::printCopies(const NamedTile &tile,
                                     llvm::function_ref<void(StringRef)> copy, bool isGuarded) {
  auto [side, inner] = placeOf(tile);
  openTileLoop(tile);
  isGuarded &= !tile.hasDigits; // the terms past the end have a bit of their own
  if (isGuarded)
    code.open("if (" + inner + " < " + left + ")");
  if (tile.hasDigits) {
    copy(tile.from + (tile.tile->alongSide ? " + " : "[" + chunk + "] + ") +
         placeOfTerm(tile, inner));
  } else if (tile.walks) {
    copy(walkedAddress(tile));
  } else {
    std::string step = tile.isVector() && tile.tile->alongSide ? std::to_string(tile.width) : "1";
    declareSide(tile.tile->isRow, "min(" + side0(*tile.tile) + " + " + side + ", " +
                                      sideExtent(*tile.tile) + " - " + step + ")");
    code.line("const int " + depth + " = " + depth0 + " + " + inner + ";");
    printDigits();
    copy("&" + text.operand(tile.tile->operand));
  }
  if (isGuarded)
    code.close();
  if (tile.walks && !tile.tile->alongSide)
    code.line(tile.from + "[" + chunk + "] += " + times(bk, tile) + ";");
  code.close();
  if (tile.walks && tile.tile->alongSide)
    code.line(tile.from + " += " + times(bk, tile) + ";");
}
