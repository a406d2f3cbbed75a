//===- Bounds.h - Extremes of affine expressions ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what printers of tiles ask about a condition or an extent that depends on dimensions: its
// value at one end of a dimension, and how it reads as a comparison. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_BOUNDS_H
#define KBOPT_LIB_SCHEDULE_BOUNDS_H

#include "CudaText.h"

namespace kbopt {

/// \p expr over all dimensions \p loops and symbols \p symbols, which contain its own.
kb::ExprAttr inSpace(kb::ExprAttr expr, llvm::ArrayRef<mlir::StringAttr> loops,
                     llvm::ArrayRef<mlir::StringAttr> symbols);

/// \p expr, which is in the space of \p like.
kb::ExprAttr withExpr(kb::ExprAttr like, mlir::AffineExpr expr);
/// \p expr where \p dim is \p value.
kb::ExprAttr withDim(kb::ExprAttr expr, llvm::StringRef dim, mlir::AffineExpr value);

/// \p a + \p factor * \p b + \p constant; the three are in one space.
kb::ExprAttr combined(kb::ExprAttr a, int64_t factor, kb::ExprAttr b, int64_t constant);

/// Whether \p a and \p b are the same polynomial, in whatever order their factors stand.
bool areEqual(mlir::AffineExpr a, mlir::AffineExpr b);

/// Dimension \p name as an expression in the space of \p like.
kb::ExprAttr dimension(llvm::StringRef name, kb::ExprAttr like);

/// Positive if \p expr never falls when \p dim grows, negative if it never rises, 0 if it does not
/// change; nothing if that is not known. A quotient by a constant rises in steps.
std::optional<int64_t> directionAlong(kb::ExprAttr expr, llvm::StringRef dim);

/// \p expr where 0 <= \p dim < \p extent makes it largest (or smallest); null if its gain along \p
/// dim is not a constant.
kb::ExprAttr extreme(kb::ExprAttr expr, llvm::StringRef dim, kb::ExprAttr extent, bool largest);

/// `expr >= 0` as a comparison without a minus where possible: "col <= row". With \p negated, its
/// opposite: "col > row".
std::string comparison(CudaText &text, kb::ExprAttr expr, bool negated);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_BOUNDS_H
