//===- NestSpace.h - Expressions of a nest in another place -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns moving expressions, operands and conditions of a nest to where other dimensions are around
// them. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_NESTSPACE_H
#define KBOPT_LIB_RAISE_NESTSPACE_H

#include "kb-opt/IR/Kb.h"
#include "llvm/ADT/StringMap.h"

namespace kbopt::raise {

class NestSpace {
public:
  explicit NestSpace(kb::NestOp nest);

  using Dims = llvm::ArrayRef<mlir::StringAttr>;
  /// By name of a dimension: what it is, in the terms of `wide`.
  using Values = llvm::StringMap<mlir::AffineExpr>;

  /// \p expr over \p dims and all symbols of the nest, with \p values in place of dimensions. Null
  /// if it uses a dimension that is in neither.
  mlir::AffineExpr wide(kb::ExprAttr expr, Dims dims, const Values &values = {}) const;
  mlir::AffineExpr wide(mlir::AffineExpr expr, Dims loops, Dims symbols, Dims dims,
                        const Values &values = {}) const;
  /// \p expr, which `wide` made, with only the symbols that it uses.
  kb::ExprAttr expression(mlir::AffineExpr expr, Dims dims) const;
  kb::DomainAttr domain(llvm::ArrayRef<mlir::AffineExpr> constraints,
                        llvm::ArrayRef<bool> isEquality, Dims dims) const;

  /// Null as for `wide`.
  kb::ExprAttr moved(kb::ExprAttr expr, Dims dims, const Values &values = {}) const;
  kb::OperandAttr moved(kb::OperandAttr operand, Dims dims, const Values &values = {}) const;
  kb::DomainAttr moved(kb::DomainAttr domain, Dims dims, const Values &values = {}) const;
  /// Moves what \p op alone says about memory, its extent and its condition to the dimensions that
  /// are around it now, with \p values in place of others.
  void move(mlir::Operation *op, const Values &values) const;

private:
  llvm::SmallVector<unsigned> usedSymbols(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  /// Positions of the symbols \p used among themselves.
  llvm::SmallVector<mlir::AffineExpr> renumbering(llvm::ArrayRef<unsigned> used) const;

  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::StringAttr> symbols;
};

/// Moves what every operation in \p root says about memory, extents and conditions to the
/// dimensions that are now around it. Those that
/// \p renamed names have another name now.
void moveToDimensionsAround(mlir::Operation *root,
                            const llvm::StringMap<std::string> &renamed = {});

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_NESTSPACE_H
