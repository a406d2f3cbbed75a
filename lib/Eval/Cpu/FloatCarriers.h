//===- FloatCarriers.h - Integers that hold floating-point numbers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the search for integers of device code that are the bits of floating-point
// numbers: halves in the registers of inline PTX, floats that are shuffled or compared
// and swapped.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_FLOATCARRIERS_H
#define KBOPT_LIB_EVAL_CPU_FLOATCARRIERS_H

#include "kbrt/Oracle.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include <optional>

namespace kbopt::cpu {

/// Of a floating-point type or a vector of one; nothing for other types.
std::optional<kbrt::FloatFormat> floatFormatOf(const llvm::Type *type);
unsigned bitsOf(kbrt::FloatFormat format);
llvm::Type *typeOf(kbrt::FloatFormat format, llvm::LLVMContext &context);

/// Whether \p call is a shuffle of a warp, of 32 bits.
bool isShuffle(const llvm::CallBase &call);

/// Values of one function. Integers belong together that move, select, pack or shuffle the same
/// bits; what they are cast from or to says what they hold.
class FloatCarriers {
public:
  explicit FloatCarriers(llvm::Function &function);

  /// What \p value consists of: as many numbers of the format as it has room for. Nothing if it
  /// holds none, or if it is used as two formats.
  std::optional<kbrt::FloatFormat> formatOf(const llvm::Value *value) const;

private:
  void visit(llvm::Instruction &instruction);
  void join(const llvm::Value *a, const llvm::Value *b);
  void note(const llvm::Value *value, kbrt::FloatFormat format);

  llvm::EquivalenceClasses<const llvm::Value *> classes;
  llvm::SmallVector<std::pair<const llvm::Value *, kbrt::FloatFormat>> evidence;
  /// By leader; nothing: several.
  llvm::DenseMap<const llvm::Value *, std::optional<kbrt::FloatFormat>> formats;
};

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_FLOATCARRIERS_H
