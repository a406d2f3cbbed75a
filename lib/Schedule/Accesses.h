//===- Accesses.h - How elements of a nest lie along a dimension -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the questions that every sketch asks about array elements: their stride along a dimension,
// whether several of them can be moved at once, and whether two operands are the same element.
// Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SCHEDULE_ACCESSES_H
#define KBOPT_LIB_SCHEDULE_ACCESSES_H

#include "CudaText.h"
#include <optional>

namespace kbopt {

/// What \p expr gains when \p dim grows by one; nothing if that is not the same constant
/// everywhere.
std::optional<int64_t> strideAlong(kb::ExprAttr expr, llvm::StringRef dim);
/// The same as an expression over sizes ("n"); null if it varies with a dimension.
kb::ExprAttr gainAlong(kb::ExprAttr expr, llvm::StringRef dim);
/// Whether \p expr changes with \p dim at all.
bool dependsOn(kb::ExprAttr expr, llvm::StringRef dim);
/// Whether \p expr uses a `varying` symbol that a kb.let inside \p scope declares (and \p text has
/// not hoisted).
bool usesNameOf(kb::ExprAttr expr, mlir::Block &scope, const CudaText *text = nullptr);

/// Conditions on kernel parameters under which \p expr without its multiples of \p dim is a
/// multiple of
/// \p width; nothing if that cannot be told before the launch. Those of \p met hold already.
std::optional<std::vector<std::string>> multipleConditions(kb::NestOp nest, kb::ExprAttr expr,
                                                           llvm::StringRef dim, int64_t width,
                                                           llvm::ArrayRef<std::string> met = {});

/// Two operands with the same key are the same element; \p dim, the dimension that a team shares,
/// is written as `@`.
std::string elementKey(CudaText &text, kb::OperandAttr operand, llvm::StringRef dim);

/// The CUDA vector type of \p bytes bytes whose parts are of \p type: "float4", "int2"; "uint4"
/// where there is none.
std::string vectorType(llvm::StringRef type, int64_t bytes);
/// Whether values of \p type add up exactly in any order.
bool isIntegerType(llvm::StringRef type);

/// Every element that \p op itself loads, in order; the element that it stores is not among them.
llvm::SmallVector<kb::OperandAttr> loadsOf(mlir::Operation *op);
/// Calls \p look with every element that \p scope and what is in it loads or stores.
void forEachAccess(mlir::Operation *scope,
                   llvm::function_ref<void(kb::OperandAttr, bool isStore)> look);
/// How the elements that a scope uses lie for neighbours along a dimension.
struct Neighbours {
  bool areSide = false;  ///< some lie side by side
  bool areApart = false; ///< some lie apart
  void add(Neighbours other) { areSide |= other.areSide, areApart |= other.areApart; }
};
Neighbours neighboursAlong(mlir::Operation *scope, llvm::StringRef dim);
/// The operands and the text of \p op: a kb.let, kb.when, kb.reduce or kb.store.
mlir::ArrayAttr operandsOf(mlir::Operation *op);

/// Whether \p op reads \p operand only where a condition inside its expression holds: `c ? $0 : 0`.
/// It must not be loaded ahead.
bool isReadUnderCondition(mlir::Operation *op, kb::OperandAttr operand);

/// Whether \p a and \p b may be passed memory that overlaps, as far as the kernel's parameters
/// tell.
bool mayOverlap(kb::KernelOp kernel, kb::BaseAttr a, kb::BaseAttr b);

} // namespace kbopt

#endif // KBOPT_LIB_SCHEDULE_ACCESSES_H
