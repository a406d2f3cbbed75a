//===- Contraction.h - A nest with reuse between two dimensions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the sketch `contraction` knows of a nest: the two dimensions between which loaded
// elements are used again, the sum, and what happens before and after it. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_CONTRACTION_H
#define KBOPT_LIB_SCHEDULE_CONTRACTION_H

#include "Accesses.h"
#include "CudaText.h"
#include "kb-opt/Schedule/Sketch.h"

namespace kbopt {

/// Rows or columns that a kernel numbers with an int, tiles past the last one among them.
inline constexpr int64_t mostPoints = 0x7fff0000;

struct NestDim {
  std::string name;
  kb::ExprAttr extent;
};

/// An operand of the term that waits in shared memory: it lacks one of the two dimensions.
struct ContractionTile {
  kb::OperandAttr operand;
  bool isRow = false; ///< varies with `row`, not with `column`
  bool alongSide =
      false; ///< neighbouring threads copy neighbours along its row or column dimension
  bool alongDepth = false; ///< unit stride from each term to the next
  /// `operand` where the innermost dimension of the sum counts all terms. Null where no one stride
  /// leads from each term to the next.
  kb::OperandAttr flat;
  /// Each digit of a term has a stride of its own. With `alongDepth` that of the last one is 1, and
  /// no condition depends on it.
  bool hasDigits = false;
  /// Conditions, each >= 0, under which the given kernel reads the element. Elsewhere the tile has
  /// a zero.
  std::vector<kb::ExprAttr> guards;
};

/// A statement of the sum, and the conditions around it, each >= 0, over all dimensions.
struct GuardedStatement {
  mlir::Operation *op = nullptr;
  std::vector<kb::ExprAttr> guards;
};

/// out[row, column, batch] = after(sum over depth of term): every load of the term lacks `row` or
/// `column`.
struct Contraction {
  kb::NestOp nest;
  NestDim row, column;
  /// Where `row` or `column` numbers the points of several dimensions of the nest (the pixels of
  /// all images), these dimensions, outermost first; otherwise empty.
  std::vector<NestDim> rowParts, columnParts;
  std::vector<NestDim> batch; ///< further parallel dimensions, outermost first
  std::vector<NestDim> depth; ///< dimensions of the sum, outermost first
  /// Conditions on row and column that select the points with a sum (a triangle), each >= 0, and
  /// those on sizes under which every row and every column has such a point.
  std::vector<kb::ExprAttr> conditions, launchConditions;
  /// The length of the sum where it depends on row or column; `depth` then has its maximum. Null
  /// otherwise.
  kb::ExprAttr length;
  /// What stands beside a condition around the sum: all points run it, also those without a sum.
  std::vector<mlir::Operation *> besideBefore, besideAfter;
  /// Where all that stands beside is what points without a sum store, at the place where those with
  /// one store theirs (the mask of an attention), that store.
  kb::StoreOp instead;
  std::vector<kb::LetOp> shared; ///< before the sum, the same for all rows and columns
  std::vector<kb::LetOp>
      perOutput; ///< before the sum, in order, initial values of the sums among them
  std::vector<mlir::Operation *> term, after;
  std::vector<std::pair<std::string, std::string>> sums; ///< name and type
  std::vector<ContractionTile> tiles;
  mlir::Block *point = nullptr; ///< the statements of one output
  /// The given kernel adds no term where a guard fails. Zeros in its place change a sum that is
  /// zero or no number, unless it consists of integers.
  bool leavesOut = false;
  /// Conditions on the parts of a side, each >= 0: where all hold, no guard fails for any term.
  std::vector<kb::ExprAttr> alwaysHolds;

  bool selectsPoints() const { return !conditions.empty(); }
  bool asGiven = false; ///< found for matrix units
  /// Whether each side and the sum is one dimension of the nest, without conditions on terms.
  bool isPlain() const;
  /// Whether it is a convolution: terms have digits or conditions, or a side numbers the rows and
  /// columns of several images.
  bool isConvolution() const;
  /// The dimensions of the nest that a side consists of.
  llvm::ArrayRef<NestDim> partsOf(bool isRow) const {
    const std::vector<NestDim> &parts = isRow ? rowParts : columnParts;
    return parts.empty() ? llvm::ArrayRef<NestDim>(isRow ? row : column)
                         : llvm::ArrayRef<NestDim>(parts);
  }
  /// The product of the extents of the sum.
  kb::ExprAttr termCount() const;
  /// What must be a multiple where several terms are copied at once: their number, or, where that
  /// is not a constant, the extent of the outermost dimension, the channels of a convolution.
  kb::ExprAttr dividedTerms() const;
  /// \p expr over all dimensions and symbols.
  kb::ExprAttr spread(kb::ExprAttr expr) const;
  /// Whether \p expr changes with the row or the column.
  bool dependsOnSide(kb::ExprAttr expr, bool isRow) const;
  bool isSum(llvm::StringRef name) const;
  /// The tile of \p operand; null if the term reads it where it lies.
  const ContractionTile *tileOf(kb::OperandAttr operand) const;
};

/// Fills \p contraction; otherwise why \p nest is none, in the user's words. With \p isPlain each
/// side is one dimension of the nest, and no term has a condition, as matrix units need it.
std::string findContraction(kb::NestOp nest, Contraction &contraction, bool isPlain = false);
/// The form that the unit \p core multiplies.
std::string findContraction(kb::NestOp nest, llvm::StringRef core, Contraction &contraction);

/// Whether \p dim is one of few values along which operands of \p term move unevenly: the phase of
/// a stride, which each block has one of.
bool isPhase(const NestDim &dim, llvm::ArrayRef<mlir::Operation *> term);

/// Joins the row with all \p parallel dimensions on which only elements of rows depend, likewise
/// the column.
void joinSides(llvm::ArrayRef<NestDim> parallel, Contraction &contraction);
/// Finds out which tiles move on by one stride from term to term.
void flattenTiles(Contraction &contraction);
/// The same where the order of terms does not matter: those that lie side by side come last.
void orderTerms(Contraction &contraction);
/// Makes the conditions around the statements of the sum guards of the tiles. Why that is not
/// possible; empty if it is.
std::string placeGuards(llvm::ArrayRef<GuardedStatement> term, Contraction &contraction);
/// Whether \p text is +0 where its operands that \p isZero names are: such an operand itself, or
/// converted.
bool keepsZero(llvm::StringRef text, llvm::function_ref<bool(llvm::StringRef)> isZero);
/// Whether \p text is the number +0.
bool isZeroText(llvm::StringRef text);

/// Whether \p op, a statement of a nest, names \p name in its text or its operands.
bool mentions(mlir::Operation *op, llvm::StringRef name);

/// The block tile and which thread computes what of it; the keys of the schedule.
struct ContractionShape {
  int64_t bm = 0, bn = 0, bk = 0, tm = 0, tn = 0, stages = 2, group = 1;
  int64_t split = 1;         ///< parts of each tile's terms, summed by different warps
  bool isVector = true;      ///< 16 bytes per access, where operands have a unit stride
  std::string core = "simt"; ///< on matrix units, `tm` x `tn` is the tile of a warp
  /// `wgmma`: four warps share the tile `tm` x `tn`, and multiply it straight from shared memory.
  std::string unit = "mma";
  bool isWgmma() const { return unit == "wgmma"; }
  /// How tiles arrive for `wgmma`: `async`, each thread copies a part of them; `tma`, one thread
  /// has whole tiles copied, while the others multiply.
  std::string load = "async";
  bool isTma() const { return isWgmma() && load == "tma"; }
  bool isOfHalves() const { return core == "half" || core == "bf16"; }
  bool onMatrixUnits() const { return core != "simt"; }
  explicit ContractionShape(const Schedule &schedule);
  ContractionShape() = default;
  Schedule schedule() const;
  /// Whether elements of \p tile are loaded one by one, also where others are not.
  bool isSingle(const ContractionTile &tile) const {
    return !isVector || (tile.hasDigits && !tile.alongDepth);
  }
  int64_t threads() const {
    return bm / tm * (bn / tn) * threadsOfTile() * split + producerThreads();
  }
  /// Whether setmaxnreg moves registers to the warps that multiply. The launch bounds leave those
  /// of this tile 168; they spilled some of their 128 sums. No other tile that fits did
  /// (nvcc 13.0).
  bool movesRegisters() const { return isTma() && bm == 128 && tn == 256; }
  /// Beside those that multiply: one warp, or the four between which registers move.
  int64_t producerThreads() const { return !isTma() ? 0 : movesRegisters() ? 128 : 32; }
  /// Of the warps that copy, one has work.
  int64_t workingWarps() const { return threads() / 32 - (movesRegisters() ? 3 : 0); }
  int64_t threadsOfTile() const { return isWgmma() ? 128 : onMatrixUnits() ? 32 : 1; }
  int64_t registers(const Contraction &contraction) const;
  /// Of the tiles, and of the sums of all parts but one.
  int64_t tileBytes(const Contraction &contraction) const;
  int64_t partBytes(const Contraction &contraction) const;
  int64_t sharedBytes(const Contraction &contraction) const {
    return tileBytes(contraction) + partBytes(contraction);
  }
  /// Blocks of a multiprocessor that registers and shared memory allow.
  int64_t residentBlocks(const Contraction &contraction, const ChipInfo &chip) const;
  /// Empty if the shape can be printed; otherwise why not.
  std::string whyNot(const Contraction &contraction, const ChipInfo &chip) const;

private:
  std::string whyNotSplit(const Contraction &contraction) const;
  std::string whyNotOnMatrixUnits(const Contraction &contraction, const ChipInfo &chip) const;
  std::string whyNotWgmma(const Contraction &contraction, const ChipInfo &chip) const;
  std::string whyNotFitting(const Contraction &contraction, const ChipInfo &chip) const;
};

llvm::Expected<GeneratedKernel> printSimtContraction(const Contraction &contraction,
                                                     const ContractionShape &shape,
                                                     llvm::StringRef name, const ChipInfo &chip);
llvm::Expected<GeneratedKernel> printAsyncContraction(const Contraction &contraction,
                                                      const ContractionShape &shape,
                                                      llvm::StringRef name, const ChipInfo &chip);
/// Why \p core cannot compute the sum as exactly as the given kernel but for the order of terms;
/// empty if it can.
std::string whyNoMatrixUnits(const Contraction &contraction, llvm::StringRef core);
llvm::Expected<GeneratedKernel> printMmaContraction(const Contraction &contraction,
                                                    const ContractionShape &shape,
                                                    llvm::StringRef name, const ChipInfo &chip);
/// The same by wgmma.
llvm::Expected<GeneratedKernel> printWgmmaContraction(const Contraction &contraction,
                                                      const ContractionShape &shape,
                                                      llvm::StringRef name, const ChipInfo &chip);
/// The same with tiles that tensor maps describe. Its grid has a block for each tile.
llvm::Expected<GeneratedKernel> printTmaContraction(const Contraction &contraction,
                                                    const ContractionShape &shape,
                                                    llvm::StringRef name, const ChipInfo &chip);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_CONTRACTION_H
