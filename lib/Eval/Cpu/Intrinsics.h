//===- Intrinsics.h - Lowering of one NVPTX intrinsic -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface between the walk over intrinsic calls and the families of
// lowerings. A lowering gives the value that replaces the call (null for void),
// or nothing if the intrinsic is not of its family.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_INTRINSICS_H
#define KBOPT_LIB_EVAL_CPU_INTRINSICS_H

#include "ThreadState.h"
#include "llvm/IR/Instructions.h"
#include <optional>

namespace kbopt::cpu {

struct IntrinsicCall {
  ImageContext &context;
  ThreadState &state;
  llvm::CallInst &call;
  llvm::IRBuilder<> &builder;
  llvm::StringRef name;                     ///< without "llvm.nvvm."
  llvm::SmallVector<llvm::StringRef> parts; ///< of the name, between dots

  llvm::Value *argument(unsigned index) const { return call.getArgOperand(index); }
  bool has(llvm::StringRef part) const { return llvm::is_contained(parts, part); }
  unsigned site(kbrt::AccessKind kind) const { return context.addSite(call, kind, name); }
};

using Lowered = std::optional<llvm::Value *>;

/// Special registers, barriers, warp operations, fences, clocks.
Lowered lowerSynchronisation(IntrinsicCall &call);
/// Floating-point arithmetic and conversions.
Lowered lowerArithmetic(IntrinsicCall &call);
/// Integer operations, bit permutations, address-space queries.
Lowered lowerInteger(IntrinsicCall &call);

/// prmt of PTX in its default mode.
llvm::Value *emitPermute(llvm::IRBuilderBase &builder, llvm::Value *a, llvm::Value *b,
                         llvm::Value *selector);
/// dp4a (\p four) or dp2a with the low half of \p y: products of bytes, summed.
llvm::Value *emitDotProduct(llvm::IRBuilderBase &builder, bool four, bool aSigned, bool bSigned,
                            llvm::Value *x, llvm::Value *y, llvm::Value *sum);
/// A special register by its PTX name ("tid.x", "laneid", "lanemask_lt", …).
Lowered emitSpecialRegister(ImageContext &context, ThreadState &state, llvm::IRBuilderBase &builder,
                            llvm::StringRef name);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_INTRINSICS_H
