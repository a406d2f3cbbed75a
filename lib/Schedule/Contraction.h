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

struct NestDim {
  std::string name;
  kb::ExprAttr extent;
};

/// An operand of the term that waits in shared memory: it lacks one of the two dimensions.
struct ContractionTile {
  kb::OperandAttr operand;
  bool isRow = false;      ///< varies with `row`, not with `column`
  bool alongSide = false;  ///< unit stride along its row or column dimension
  bool alongDepth = false; ///< unit stride along the innermost dimension of the sum
};

/// out[row, column, batch] = after(sum over depth of term): every load of the term lacks `row` or
/// `column`.
struct Contraction {
  kb::NestOp nest;
  NestDim row, column;
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

  bool selectsPoints() const { return !conditions.empty(); }
  bool isSum(llvm::StringRef name) const;
  /// The tile of \p operand; null if the term reads it where it lies.
  const ContractionTile *tileOf(kb::OperandAttr operand) const;
};

/// Fills \p contraction; otherwise why \p nest is none, in the user's words.
std::string findContraction(kb::NestOp nest, Contraction &contraction);

/// Whether \p op, a statement of a nest, names \p name in its text or its operands.
bool mentions(mlir::Operation *op, llvm::StringRef name);

/// The block tile and which thread computes what of it; the keys of the schedule.
struct ContractionShape {
  int64_t bm = 0, bn = 0, bk = 0, tm = 0, tn = 0, stages = 2, group = 1;
  int64_t split = 1;         ///< parts of each tile's terms, summed by different warps
  bool isVector = true;      ///< 16 bytes per access, where operands have a unit stride
  std::string core = "simt"; ///< on matrix units, `tm` x `tn` is the tile of a warp
  bool onMatrixUnits() const { return core != "simt"; }
  explicit ContractionShape(const Schedule &schedule);
  ContractionShape() = default;
  Schedule schedule() const;
  int64_t threads() const { return bm / tm * (bn / tn) * (onMatrixUnits() ? 32 : 1) * split; }
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

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_CONTRACTION_H
