//===- ContractionMma.h - Contractions on the matrix units ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what kernels for the matrix units have in common: tiles that arrive by cp.async, fragments
// that are one step ahead, and the loop over tiles. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_CONTRACTIONMMA_H
#define KBOPT_LIB_SCHEDULE_CONTRACTIONMMA_H

#include "ContractionPrinter.h"

namespace kbopt {

/// Products of half or bf16 elements.
class MmaPrinter : public ContractionPrinter {
public:
  MmaPrinter(const Contraction &contraction, const ContractionShape &shape, llvm::StringRef name)
      : ContractionPrinter(contraction, shape, name) {}

  /// The kernel, of which \p blocks fit a multiprocessor.
  llvm::Expected<GeneratedKernel> print(int64_t blocks);

protected:
  std::string load, fetch, multiply, stages, steps, used, whole, helper;
  std::string piece; ///< of a tile, which is copied between two steps
  std::string keep;  ///< stores what waits in registers; empty: nothing does
  std::string begin; ///< first term of a tile whose terms are described in tables
  /// By a tile's pointer: where its chunk lies in a row of shared memory that the thread copies,
  /// and that it reads.
  std::map<std::string, std::string> places, firsts;

  std::string constants() const override;
  std::string rowAt(llvm::StringRef i) const override {
    return row0 + " + " + rowOfThread + " + " + i.str() + " * 8";
  }
  std::string columnAt(llvm::StringRef j) const override {
    return column0 + " + " + columnOfThread + " + " + j.str() + " / 2 * 8 + " + j.str() + " % 2";
  }
  std::string sumAt(llvm::StringRef array, llvm::StringRef i, llvm::StringRef j) const override;
  std::string sumExtents() const override { return "[" + tm + " / 16][" + tn + " / 8][4]"; }
  std::string rowCount() const override { return tm + " / 8"; }
  std::string columnCount() const override { return tn + " / 4"; }
  int64_t neighbours() const override { return 2; }

  const NamedTile &rowTile() const { return tiles[0].tile->isRow ? tiles[0] : tiles[1]; }
  const NamedTile &columnTile() const { return tiles[0].tile->isRow ? tiles[1] : tiles[0]; }
  const std::string &rowOfWarp() {
    return warpRow.empty() ? warpRow = text.freshName(contraction.row.name + "OfWarp") : warpRow;
  }
  const std::string &columnOfWarp() {
    return warpColumn.empty() ? warpColumn = text.freshName(contraction.column.name + "OfWarp")
                              : warpColumn;
  }

  /// Terms of one instruction, and elements of 16 bytes.
  virtual int64_t termsOfStep() const { return 16; }
  virtual int64_t elementsOfAccess() const { return 8; }
  /// Functions before the kernel.
  virtual std::string helpers() const;
  void addHelpers(llvm::StringRef all);
  virtual std::string comment() const;
  /// Extents of one stage of \p tile.
  virtual std::string extentsOf(const NamedTile &tile) const;
  /// Declares the places of what a thread copies.
  virtual void printPlaces();
  virtual std::string placeOfCopy(const NamedTile &tile) const;
  virtual void printFetch();
  virtual void printMultiply();
  /// What is left after the loop over whole tiles.
  virtual void printRest();
  /// All parts of the tile that begins at term \p first.
  void printLoads(const llvm::Twine &stage, const llvm::Twine &terms, const llvm::Twine &first);

private:
  std::string warpRow, warpColumn;
  bool needsFlag() const { return tiles[0].isTransposed != tiles[1].isTransposed; }
  void printTiles();
  void printThread();
  void printLoad();
  void printLoadOf(const NamedTile &tile);
  /// `load(…);` of one piece.
  void callLoad(const llvm::Twine &stage, const llvm::Twine &terms, const llvm::Twine &first);
  void nameSingles();
  void printSingles(const NamedTile &tile);
  std::string printPlaces(const NamedTile &tile, const std::string &term);
  void printKeep();
  std::string waitingAt(const NamedTile &tile) const;
  void openPieces(const NamedTile &tile);
  void printFirstLoads();
  void describeNext();
  void declareStages();
  void moveStage();
  void printLoop();
  void printSplitLoop();
};

/// Products of floats whose factors are rounded to tf32.
class Tf32Printer : public MmaPrinter {
public:
  using MmaPrinter::MmaPrinter;

private:
  std::string part4; ///< counts the registers of a fragment
  int64_t termsOfStep() const override { return 8; }
  int64_t elementsOfAccess() const override { return 4; }
  std::string helpers() const override;
  std::string comment() const override;
  std::string extentsOf(const NamedTile &tile) const override;
  void printPlaces() override {}
  std::string placeOfCopy(const NamedTile &tile) const override {
    return tile.tile->alongSide ? tile.side : tile.term;
  }
  void printFetch() override;
  void printMultiply() override;
  void printRest() override;
  void printProducts(llvm::StringRef slot);
  void printSingleTerms(llvm::StringRef ends, int64_t growth);
  std::string elementAt(const NamedTile &tile, const llvm::Twine &side,
                        const llvm::Twine &term) const;
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_CONTRACTIONMMA_H
