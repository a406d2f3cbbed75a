//===- OracleLanes.h - Shadows of numbers as IR -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the IR that computes shadows (kbrt/Oracle.h), one field a value, and the calls of
// the runtime that it needs. What is computed for which instruction is Oracle.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_ORACLELANES_H
#define KBOPT_LIB_EVAL_CPU_ORACLELANES_H

#include "ImageContext.h"
#include "kbrt/Oracle.h"

namespace kbopt::cpu {

/// The shadow of one number: the fields of OracleSum.
using Lane = std::array<llvm::Value *, kbrt::oracleFields>;
/// Of all numbers of a value.
using Lanes = llvm::SmallVector<Lane, 1>;

/// What device code calls: an operation of kbrt/Oracle.h, or one that image code does by itself.
struct NamedOperation {
  enum Kind { Computed, Add, Fma, Minimum, Maximum, Abs, Negate, CopySign, Same };
  Kind kind = Computed;
  kbrt::OracleOperation operation = kbrt::OracleOperation::Convert;
};
/// Of an LLVM or NVPTX intrinsic, a helper for directed rounding (FloatOps), or a function of the
/// device library.
std::optional<NamedOperation> namedOperation(const llvm::Function &callee);
/// Functions of the device library whose float64 counterparts the runtime calls.
std::optional<kbrt::OracleOperation> libraryOperation(llvm::StringRef name);

/// For one function.
class LaneBuilder {
public:
  LaneBuilder(ImageContext &context, llvm::Function &function);

  Lane add(llvm::IRBuilder<> &b, const Lane &x, const Lane &y);
  Lane negate(llvm::IRBuilder<> &b, const Lane &x);
  /// \p x with the sign changed where \p isOther.
  Lane negateIf(llvm::IRBuilder<> &b, llvm::Value *isOther, const Lane &x);
  Lane select(llvm::IRBuilder<> &b, llvm::Value *condition, const Lane &x, const Lane &y);
  Lane compute(llvm::IRBuilder<> &b, kbrt::OracleOperation operation, kbrt::FloatFormat from,
               kbrt::FloatFormat to, const Lane &x, const Lane *y);
  /// Of a number that is exactly \p value, of any floating-point type.
  Lane exactly(llvm::IRBuilder<> &b, llvm::Value *value);
  /// What lies at \p pointer, and what is stored there.
  Lane load(llvm::IRBuilder<> &b, kbrt::FloatFormat format, llvm::Value *pointer);
  void store(llvm::IRBuilder<> &b, kbrt::FloatFormat format, llvm::Value *pointer, const Lane &x);
  void copy(llvm::IRBuilder<> &b, llvm::Value *to, llvm::Value *from, llvm::Value *bytes);
  /// \p x by a shuffle like \p call.
  Lane shuffle(llvm::IRBuilder<> &b, llvm::CallBase &call, const Lane &x);

private:
  llvm::Value *flat(llvm::IRBuilder<> &b, llvm::Value *pointer);
  llvm::Value *put(llvm::IRBuilder<> &b, unsigned slot, const Lane &x);
  Lane get(llvm::IRBuilder<> &b, unsigned slot);
  llvm::Value *field(llvm::IRBuilder<> &b, unsigned slot, unsigned index);

  ImageContext &context;
  llvm::AllocaInst *slots[3]; ///< two operands and a result on their way to and from the runtime
};

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_ORACLELANES_H
