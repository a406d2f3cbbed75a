//===- Kb.h - The kb dialect -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the C++ face of the dialect that KbOps.td declares: dialect, enums,
// attributes, operations, and the layout of the index space.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_IR_KB_H
#define KBOPT_IR_KB_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include <optional>
#include <string>

#include "kb-opt/IR/KbDialect.h.inc"
#include "kb-opt/IR/KbEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "kb-opt/IR/KbAttrs.h.inc"

#define GET_OP_CLASSES
#include "kb-opt/IR/KbOps.h.inc"

namespace kbopt::kb {

/// Dimensions 0–2 of every map are tid.x–z, 3–5 are bid.x–z, the enclosing
/// loops follow outermost first.
constexpr unsigned tidDim = 0, bidDim = 3, firstLoopDim = 6;
/// Symbols 0–2 of every map are bdim.x–z, 3–5 are gdim.x–z, named ones follow.
constexpr unsigned bdimSymbol = 0, gdimSymbol = 3, firstNamedSymbol = 6;

/// Name of dimension \p index ("tid.x", …, or a loop's).
llvm::StringRef dimName(unsigned index, llvm::ArrayRef<mlir::StringAttr> loops);
/// Name of symbol \p index ("bdim.x", …, or a named one's).
llvm::StringRef symbolName(unsigned index, llvm::ArrayRef<mlir::StringAttr> symbols);

/// The loops around \p op inside its kernel, outermost first.
llvm::SmallVector<LoopOp> enclosingLoops(mlir::Operation *op);

/// The dimensions that expressions of \p op, a kb.nest or an operation in one, are
/// over: those of the nest, then of each kb.over around \p op, outermost first.
llvm::SmallVector<mlir::StringAttr> nestDims(mlir::Operation *op);

/// The innermost source range of \p loc: the callee's for a call-site
/// location. Null if the location has none.
mlir::FileLineColRange sourceRange(mlir::Location loc);

} // namespace kbopt::kb

#endif // KBOPT_IR_KB_H
