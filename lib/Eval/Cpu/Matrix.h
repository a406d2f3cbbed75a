//===- Matrix.h - Matrix operations of a warp -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the translation of wmma, mma.sync and ldmatrix: fragments as
// kbrt::fragmentPosition deals them, loads and stores as ordinary accesses of
// each lane, products as calls of kbrt_mma.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_MATRIX_H
#define KBOPT_LIB_EVAL_CPU_MATRIX_H

#include "ImageContext.h"
#include "llvm/IR/Instructions.h"

namespace kbopt::cpu {

/// "m16n8k16" into \p shape.
bool parseMatrixShape(llvm::StringRef text, kbrt::MmaShape &shape);

/// "f16", "tf32", "s8", …; none if it names no element type.
std::optional<kbrt::MmaType> parseMatrixType(llvm::StringRef name);
unsigned matrixBits(kbrt::MmaType type);

/// D = A * B + C on registers; counts of \p shape are filled in from them.
std::vector<llvm::Value *> emitMatrixMultiply(ImageContext &context, llvm::IRBuilder<> &builder,
                                              const llvm::Instruction &at, kbrt::MmaShape shape,
                                              llvm::ArrayRef<llvm::Value *> a,
                                              llvm::ArrayRef<llvm::Value *> b,
                                              llvm::ArrayRef<llvm::Value *> c,
                                              llvm::ArrayRef<llvm::Type *> results);

/// ldmatrix / stmatrix of \p count 8x8 matrices of 16-bit elements.
std::vector<llvm::Value *> emitLoadMatrix(ImageContext &context, llvm::IRBuilder<> &builder,
                                          const llvm::Instruction &at, llvm::Value *row,
                                          unsigned count, bool transposed);
void emitStoreMatrix(ImageContext &context, llvm::IRBuilder<> &builder, const llvm::Instruction &at,
                     llvm::Value *row, llvm::ArrayRef<llvm::Value *> registers, bool transposed);

/// Replaces one wmma intrinsic; false if it is none of those understood.
bool expandWmma(ImageContext &context, llvm::CallInst &call);

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_MATRIX_H
