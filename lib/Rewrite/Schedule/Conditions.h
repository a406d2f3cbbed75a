//===- Conditions.h - When a scheduled kernel may be launched ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the conditions of a generated kernel and its nest as C++ over the names of the
// kernel: requirements, alignment, and memory that must not overlap.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_CONDITIONS_H
#define KBOPT_LIB_REWRITE_SCHEDULE_CONDITIONS_H

#include "kb-opt/Rewrite/AllocationTest.h"
#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Schedule/GeneratedKernel.h"

namespace kbopt {

/// One condition; all of them must hold.
struct HostCondition {
  std::string
      text; ///< over parameters, gridDim and blockDim; empty: it cannot be written, see `reason`
  kb::ExprAttr requirement; ///< what it was made of; null: the text is all there is
  /// A pointer that has to be aligned to `bytes`: conditions of equal bytes are written as one.
  std::string pointer;
  unsigned bytes = 0;
  /// Numbers of the parameters that it is about: one that is aligned, two that are disjoint.
  std::vector<unsigned> arguments;
  std::string reason;
  /// The text calls `allocationTest` with two pointers. `reason` says what else there is to say if
  /// that cannot be.
  bool testsAllocations = false;
};

/// \p expr of \p nest as an integer expression; 64 bits wide wherever a product or sum could
/// need it. Nothing if it is over dimensions.
std::optional<std::string> hostText(kb::ExprAttr expr, kb::NestOp nest);

/// `expr >= 0` as C++.
std::optional<std::string> atLeastZero(kb::ExprAttr expr, kb::NestOp nest);

/// The elements after a pointer that a nest may touch.
struct TouchedMemory {
  std::string elements; ///< their number, as an expression
  int64_t elementBytes = 0;
  std::vector<std::string> notNegative; ///< symbols that this takes to be >= 0
};

/// An error if that is not known for the pointer \p parameter.
llvm::Expected<TouchedMemory> touchedMemory(kb::NestOp nest, llvm::StringRef parameter);

/// Everything that must hold at a launch. An error is a reason.
llvm::Expected<std::vector<HostCondition>> conditionsOf(kb::KernelOp kernel, kb::NestOp nest,
                                                        const GeneratedKernel &generated);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_CONDITIONS_H
