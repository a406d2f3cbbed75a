//===- ContractionSingles.cpp - Halves that are loaded one by one -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how a tile of the matrix units is filled whose elements cannot be read 16 bytes at a time:
// the pixels of a convolution, and rows of a length that 8 does not divide. A thread loads eight
// neighbouring terms of a row or column into registers while the present tile is multiplied. It
// stores them as one chunk, where cp.async would have put it.
//
//===----------------------------------------------------------------------===//

#include "ContractionMma.h"

using namespace kbopt;
using namespace mlir;

void MmaPrinter::nameSingles() {
  begin = hasTables() ? text.freshName("begin") : "";
  if (llvm::none_of(tiles, [](const NamedTile &tile) { return tile.isSingle(); }))
    return;
  keep = text.freshName("keep");
  std::string element = text.freshName("e");
  for (NamedTile &tile : tiles)
    if (tile.isSingle()) {
      tile.element = element;
      tile.next =
          text.freshName(StringRef(tile.from).drop_back(StringRef("From").size()).str() + "Next");
    }
}

/// Where access `chunk` waits. The parts of a tile use the same registers in turn, unless all of
/// them are loaded at once.
std::string MmaPrinter::waitingAt(const NamedTile &tile) const {
  return tile.next + "[" + (isSplit() ? chunk : chunk + " / (" + steps + " - 1)") + "]";
}

/// The distance of term `element` of the chunk that begins at \p term. nvcc would read each
/// distance on its own, where its element exists: 16 bytes are read at once instead.
std::string MmaPrinter::printPlaces(const NamedTile &tile, const std::string &term) {
  if (!tile.hasIntPlaces)
    return placeOfTerm(tile, term + " + " + tile.element);
  std::string places =
      text.freshName(StringRef(tile.from).drop_back(StringRef("From").size()).str() + "Places");
  code.line("alignas(16) int " + places + "[8];");
  for (const char *more : {"", " + 4"})
    code.line("*reinterpret_cast<int4 *>(" + places + more +
              ") = *reinterpret_cast<const int4 *>(&" + placeOfTerm(tile, term + more) + ");");
  return places + "[" + tile.element + "]";
}

void MmaPrinter::printSingles(const NamedTile &tile) {
  std::string term = placeOf(tile).second + " + " + tile.element, address;
  if (tile.hasDigits)
    address = tile.from + (tile.tile->alongSide ? " + " : "[" + chunk + "] + ") +
              printPlaces(tile, placeOf(tile).second);
  else if (tile.tile->alongSide && tile.stride.empty())
    address = tile.from + " + (" + chunk + " * " + tile.apart + " + " + tile.element + ")";
  else if (tile.tile->alongSide)
    address = tile.from + " + " +
              times("(" + chunk + " * " + tile.apart + " + " + tile.element + ")", tile);
  else
    address = tile.from + "[" + chunk + "] + " + tile.element;
  code.unroll()
      .line("for (int " + tile.element + " = 0; " + tile.element + " < 8; ++" + tile.element + ")")
      .indent();
  code.line(waitingAt(tile) + "[" + tile.element +
            "] = " + (tile.hasDigits ? tile.guard : whole + " || " + term + " < " + left) + " ? " +
            loadAt(tile, address) + " : " + zeroOf(tile) + ";")
      .outdent();
}

void MmaPrinter::printKeep() {
  if (keep.empty())
    return;
  code.line("auto " + keep + " = [&](int " + stage + ", int " + piece + ") {").indent();
  for (const NamedTile &tile : tiles) {
    if (!tile.isSingle())
      continue;
    std::string type = vectorOf(tile);
    openPieces(tile);
    code.line("*reinterpret_cast<" + type + " *>(&" + tile.shared + "[" + stage + "][" +
              placeOf(tile).first + "][" + placeOfCopy(tile) + "]) = *reinterpret_cast<const " +
              type + " *>(" + waitingAt(tile) + ");")
        .close();
  }
  code.outdent().line("};");
}
