//===- NestWork.h - What a nest executes ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the accesses and operations of a nest with the dimensions around each, and the value of an
// expression at a point. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_NESTWORK_H
#define KBOPT_LIB_SCHEDULE_NESTWORK_H

#include "Placement.h"

namespace kbopt {

/// Numbers of dimensions as `sizedDims` lists them, outermost first.
using DimNumbers = llvm::SmallVector<unsigned, 6>;

/// An offset that can be evaluated at many points. A symbol that data gives has a value that
/// depends on what it is computed from.
class PointOffset {
public:
  PointOffset(kb::NestOp nest, kb::ExprAttr expr, llvm::ArrayRef<SizedDim> dims,
              const LaunchSizes &sizes);
  /// At the point with these values of the dimensions.
  int64_t at(llvm::ArrayRef<int64_t> point) const;
  bool dependsOn(unsigned dim) const { return used.contains(dim); }
  bool isNamedByData() const { return byData; }
  /// By values that are no constants, each about 20 instructions.
  unsigned divisions() const;

private:
  struct Symbol {
    int64_t value = 0;
    uint64_t seed = 0; ///< not 0: data gives it
    DimNumbers from;   ///< the dimensions that it then depends on
  };
  mlir::AffineExpr expr;
  DimNumbers places; ///< by loop of the expression
  llvm::SmallVector<Symbol, 8> symbols;
  llvm::SmallSet<unsigned, 6> used;
  bool byData = false;

  int64_t evaluate(mlir::AffineExpr part, llvm::ArrayRef<int64_t> point) const;
};

struct WorkAccess {
  kb::OperandAttr operand;
  bool isStore = false, isAtomic = false;
  DimNumbers dims; ///< around it
};

struct WorkStatement {
  /// Warp instructions, those of the special unit, and those in double precision.
  double instructions = 0, special = 0, doubles = 0;
  bool combines = false; ///< a term of a reduction
  DimNumbers dims;
};

/// Everything that the points of a nest do.
struct NestWork {
  std::vector<WorkAccess> accesses; ///< equal loads of one body once
  std::vector<WorkStatement> statements;
  std::vector<DimNumbers> loops; ///< the last dimension is the loop, those before are around it

  NestWork(kb::NestOp nest, llvm::ArrayRef<SizedDim> dims);
};

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_NESTWORK_H
