//===- ContractionWgmma.h - Half products by wgmma --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what kernels that multiply by wgmma have in common: where elements of the tiles and of the
// sums lie, the functions that multiply and exchange, and the code for other architectures. Private
// to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_CONTRACTIONWGMMA_H
#define KBOPT_LIB_SCHEDULE_CONTRACTIONWGMMA_H

#include "ContractionPrinter.h"

namespace kbopt {

class WgmmaPrinter : public ContractionPrinter {
public:
  WgmmaPrinter(const Contraction &contraction, const ContractionShape &shape, llvm::StringRef name);

  /// The kernel whose tiles arrive by cp.async, of which \p blocks fit a multiprocessor.
  llvm::Expected<GeneratedKernel> print(int64_t blocks);

protected:
  /// Of 16 bytes.
  static constexpr int64_t elementsOfChunk = 8;
  std::string helper, stages, part;
  std::string memory;       ///< that is dynamically shared, the tiles first
  bool isExchanged = false; ///< a thread has 8 neighbours of a row

  std::string fresh(const std::string &wanted) { return text.freshName(wanted); }
  std::string constants() const override;
  std::string rowAt(llvm::StringRef i) const override {
    return row0 + " + " + rowOfThread + " + " + i.str() + " * 8";
  }
  /// Before the exchange, a thread has two neighbours of every eight columns.
  std::string columnAt(llvm::StringRef j) const override;
  std::string sumAt(llvm::StringRef array, llvm::StringRef i, llvm::StringRef j) const override;
  std::string sumExtents() const override { return "[" + bn + " / 8][4]"; }
  std::string rowCount() const override { return "2"; }
  std::string columnCount() const override { return bn + " / 4"; }
  int64_t neighbours() const override;

  void directive(llvm::StringRef text) { code.outdent().line(text).indent(); }
  const NamedTile &tileOf(bool isRow) const {
    return tiles[0].tile->isRow == isRow ? tiles[0] : tiles[1];
  }
  const std::string &sum() const { return sums.begin()->second; }
  /// Why the tiles cannot be copied 16 bytes at a time; empty if they can.
  std::string whyNot() const;
  /// The functions that the kernel calls.
  virtual std::string helpers() const;
  /// Extents of one stage of \p tile: rows of 64 elements, along the sum or along the side.
  std::string extentsOf(const NamedTile &tile) const;
  /// Declares the tiles in dynamic shared memory.
  void printTiles();
  void printThread();
  /// Until at most \p groups of products are under way.
  void printWait(llvm::StringRef groups);
  /// Multiplies the tiles of `stage`, in a group of its own.
  void printMultiply();
  /// Makes the neighbours of a row those of a thread, once all products are complete.
  void printExchange();
  /// The given kernel's statements for each output of the tile.
  void printPoints();

private:
  /// With a fourth stage, a product runs on while the next one begins.
  static constexpr int64_t tilesAhead = 2;
  std::string load, ahead, next, whole;
  std::map<std::string, std::string> places; ///< by a tile's pointer: of its chunk in a row
  bool overlaps() const { return shape.stages > tilesAhead + 1; }
  void printLoad();
  std::string matrixAt(const NamedTile &tile) const;
  void printLoop();
  void loopOverSums(int64_t apart, llvm::function_ref<void()> body);
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_CONTRACTIONWGMMA_H
