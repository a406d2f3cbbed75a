//===- ContractionPrinter.h - What all contraction kernels print -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the parts that the printers of a contraction share: where a block's tile lies, loads of
// operand tiles, initial values and what follows the sum. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_CONTRACTIONPRINTER_H
#define KBOPT_LIB_SCHEDULE_CONTRACTIONPRINTER_H

#include "Contraction.h"
#include "LaneLoop.h"
#include "Statements.h"

namespace kbopt {

/// A tile with the names of its arrays.
struct NamedTile {
  const ContractionTile *tile = nullptr;
  std::string shared, next, registers;
  int64_t width = 1; ///< elements per access
  /// Neighbouring terms of one row or column that a thread copies one by one, through registers,
  /// and `element` counts.
  int64_t terms = 1;
  std::string element;
  bool isTransposed = true; ///< rows of the shared tile run over the side, not over the depth
  /// A thread copies the same place of every tile: it keeps a pointer that walks along the depth.
  bool walks = false;
  std::string from, side, term,
      apart;          ///< that pointer, its place in the tile, and the distance between accesses
  std::string stride; ///< between neighbouring terms; empty: 1
  /// A thread copies one row or column of every tile, from `from` on. Tables of shared memory say
  /// for each term how far from there its element lies (`place`), and which bits of `outside` keep
  /// it from existing (`bits`), or its digits where conditions need them. `describe` fills them,
  /// and `guard` is the condition.
  bool hasDigits = false, hasIntPlaces = false;
  std::string place, bits, outside, describe, guard;
  std::map<std::string, std::string> digits;
  bool isVector() const { return width > 1; }
  bool isSingle() const { return terms > 1; }
};

class ContractionPrinter {
public:
  virtual ~ContractionPrinter() = default;

protected:
  ContractionPrinter(const Contraction &contraction, const ContractionShape &shape,
                     llvm::StringRef name);

  const Contraction &contraction;
  const ContractionShape &shape;
  CudaText text;
  CodeLines code{1};
  Needs needs;
  GeneratedKernel kernel;
  std::vector<NamedTile> tiles;
  std::map<std::string, std::string> sums; ///< arrays of the sums, by the variable's name
  std::string rows, columns, length;       ///< extents
  std::string row0, column0, depth0, rowOfThread, columnOfThread, depth, stage, slot, i, j;
  std::string bm, bn, bk, tm, tn, threads, lane, warp, at, chunk, step, left;
  std::string split, part,
      firstTerm; ///< where sums are split: parts, the thread's, and where that begins in a tile
  std::string dynamicMemory; ///< after the tiles in it; empty: tiles are static arrays
  /// Neighbouring threads own neighbouring rows or columns, not chunks of four.
  bool rowsApart = false, columnsApart = false;
  bool usesDepth = false;                   ///< the term reads something that lies in no tile
  std::map<std::string, std::string> sizes; ///< extents by dimension, as a name or number
  std::string again;                        ///< by row of a thread, bits for columns
  std::string limit, full, edge; ///< of the sum in this tile, where `length` is its maximum

  /// The extent of \p dim as a name or number; declares one if it is longer.
  std::string extentOf(const NestDim &dim);
  /// `const int row0 = …`: the tile and batch of the block, and what all outputs share.
  void printPosition();
  void printBatch(const std::string &tiles, bool isLongestFirst, std::string &tile);
  /// Declares the dimensions of the sum from their combined index \p depth.
  void printDigits();
  /// Row of the thread's \p i-th output within the nest, likewise for columns, and its sum in \p
  /// array.
  virtual std::string rowAt(llvm::StringRef i) const;
  virtual std::string columnAt(llvm::StringRef j) const;
  virtual std::string sumAt(llvm::StringRef array, llvm::StringRef i, llvm::StringRef j) const;
  /// Extents of an array of sums, and how many rows and columns a thread has.
  virtual std::string sumExtents() const { return "[" + tm + "][" + tn + "]"; }
  virtual std::string rowCount() const { return tm; }
  virtual std::string columnCount() const { return tn; }
  /// Neighbouring columns of a thread, from a multiple of as many on.
  virtual int64_t neighbours() const { return columnsApart ? 1 : 4; }
  virtual std::string constants() const;
  /// `const int lane = …`: where the thread's outputs lie in the tile.
  void printThread();
  /// Accesses of one thread to \p tile.
  std::string perThread(const NamedTile &tile) const;
  /// Where access `chunk` to \p tile lies: along the side, and along the depth. Of several terms,
  /// the first one.
  std::pair<std::string, std::string> placeOf(const NamedTile &tile) const;
  /// The extents of the parts of a side, and of the sum's dimensions, as names.
  void declareSizes();
  const std::string &sizeOf(const NestDim &dim) const { return sizes.at(dim.name); }
  std::string sideCount(bool isRow);
  /// `const int row = \p value;`, and the dimensions of the nest that it numbers.
  void declareSide(bool isRow, const llvm::Twine &value);
  /// Declares the dimensions that \p side, a row or column, numbers under the names that \p nameOf
  /// gives; those without a name are not needed.
  void declareParts(bool isRow, llvm::StringRef side,
                    llvm::function_ref<std::string(const NestDim &)> nameOf);
  /// Declares from where the thread copies \p tile, and the tables of its terms.
  void printDigitCopies(NamedTile &tile);
  /// `__ldg(\p address)`, an element of \p tile.
  static std::string loadAt(const NamedTile &tile, const llvm::Twine &address);
  std::string placeOfTerm(const NamedTile &tile, const llvm::Twine &term) const {
    return (tile.place + "[" + slot + "][" + term + "]").str();
  }
  /// Describes the terms of the tile that begins at \p first in half \p half of the tables.
  void printDescribe(const llvm::Twine &half, const llvm::Twine &first);
  /// An array that the block shares, after the tiles where these lie in dynamic memory.
  void declareShared(llvm::StringRef type, llvm::StringRef name, const std::string &extents,
                     llvm::StringRef comment = "");
  bool hasTables() const {
    return llvm::any_of(tiles, [](const NamedTile &tile) { return tile.hasDigits; });
  }
  /// A zero of \p tile's type.
  static std::string zeroOf(const NamedTile &tile);
  /// Declares which part of each tile the thread copies, and the pointers that it copies from.
  void printWalks();
  /// Where access `chunk` to \p tile, which walks, lies in memory.
  std::string walkedAddress(const NamedTile &tile) const;
  /// `terms * stride` of \p tile, which walks.
  std::string times(llvm::StringRef terms, const NamedTile &tile) const;
  /// The loop over a thread's accesses to \p tile, and `at` in it where `placeOf` needs it.
  void openTileLoop(const NamedTile &tile);
  /// Prints the loop that copies the thread's part of the next tile, of which `left` terms are
  /// left; terms past the end are left alone unless \p isWhole. \p copy prints the copy of one
  /// access from an address.
  void printCopies(const NamedTile &tile, llvm::function_ref<void(llvm::StringRef address)> copy,
                   bool isGuarded = true);
  /// `const int depth0 = …` for tiles without a pointer of their own.
  void printFirstTerm();
  /// The statements of the sum for output \p i, \p j, with \p registersOf in place of the tiles'
  /// elements. Where its length varies, terms beyond it are left out if `edge`.
  void printTerm(llvm::function_ref<std::string(const NamedTile &)> registersOf);
  /// Declares how many terms the tile has (`limit`), and how many all of its outputs have (`full`).
  void printLimits();
  void printInitialValues();
  void printAfter();
  /// Whether sums of zeros, or that are no numbers, may differ from the given kernel's.
  bool mayDoubt() const;
  /// `again[i] |= 1u << j;` and on to the next output where the sums of \p count outputs from \p j
  /// on may differ; \p first is their first column.
  void printDoubt(llvm::StringRef first, int64_t count);
  /// Computes such outputs as the given kernel does.
  void printAgain();
  bool isSplit() const { return shape.split > 1; }
  /// Terms of a tile that a thread sums, and number \p step of them within the tile.
  std::string ownTerms() const { return isSplit() ? bk + " / " + split : bk; }
  std::string ownTerm(const llvm::Twine &step) const {
    return (isSplit() ? firstTerm + " + " + step : step).str();
  }
  /// Terms of the last tile, of which \p rest are left, that a thread sums.
  std::string ownRest(llvm::StringRef rest) const {
    return isSplit() ? "min(" + ownTerms() + ", " + rest.str() + " - " + firstTerm + ")"
                     : rest.str();
  }
  /// Adds the sums of all parts up in the threads of the first one, which alone go on.
  void printParts();
  /// Completes the kernel around the printed body.
  llvm::Expected<GeneratedKernel> finish(llvm::StringRef comment, int64_t blocks);
  std::string sideExtent(const ContractionTile &tile) const { return tile.isRow ? rows : columns; }
  std::string sideName(const ContractionTile &tile) const {
    return tile.isRow ? contraction.row.name : contraction.column.name;
  }
  std::string side0(const ContractionTile &tile) const { return tile.isRow ? row0 : column0; }
  std::string sideSize(const ContractionTile &tile) const { return tile.isRow ? bm : bn; }
  std::string vectorOf(const NamedTile &tile) const;
  bool fails = false;          ///< the launch cannot tell an extent
  llvm::StringSet<> unaliased; ///< pointer parameters whose memory does not overlap

private:
  void chooseWidths();
  void chooseWalks();
  void addConditions();
  std::string hostExtent(const NestDim &dim);
  std::string wideProduct(llvm::ArrayRef<NestDim> parts);
  bool storesVectors();
  bool readsColumn(kb::StoreOp store);
  bool readsColumn(llvm::ArrayRef<mlir::Operation *> all, llvm::ArrayRef<kb::LetOp> lets);
  std::string guardText(std::vector<kb::ExprAttr> guards);
  std::optional<std::vector<const NestDim *>> maskedDigits(const NamedTile &tile);
  void printMask(NamedTile &tile, llvm::ArrayRef<const NestDim *> masked, std::string &bits);
  void printTable(NamedTile &tile, kb::ExprAttr apart, const std::string &bits);
  bool fitsInt(kb::ExprAttr apart);
  std::string corner(kb::ExprAttr expr, bool largest);
  std::string isOutside(llvm::StringRef column);
  std::string points(bool negated);
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_CONTRACTIONPRINTER_H
