//===- OracleInserter.h - The shadows of one function -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what Oracle.cpp (which instructions get shadows, and of which operation) and
// OracleBits.cpp (what moves, selects, packs or unpacks numbers) share.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_ORACLEINSERTER_H
#define KBOPT_LIB_EVAL_CPU_ORACLEINSERTER_H

#include "FloatCarriers.h"
#include "OracleLanes.h"
#include "llvm/IR/IntrinsicInst.h"
#include <map>

namespace kbopt::cpu {

/// How many numbers of \p format \p value has room for.
unsigned countOf(const llvm::Value *value, kbrt::FloatFormat format);

/// The instruction before which what is computed from \p value goes.
llvm::Instruction *behind(llvm::Value *value, llvm::Function &function);

/// Follows what is stored back to what it was computed from. Shadows are made on demand, each once,
/// behind the value that they belong to; those of loops are completed at the end.
class OracleInserter {
public:
  OracleInserter(ImageContext &context, llvm::Function &function)
      : function(function), carriers(function), lanes(context, function) {}
  void run();

private:
  void storeNumber(llvm::StoreInst &store);
  void copyBytes(llvm::MemTransferInst &transfer);
  Lanes exchange(llvm::AtomicCmpXchgInst &exchange);
  Lanes update(llvm::AtomicRMWInst &update);

  /// The shadows of \p value, which consists of numbers of \p format, computed behind it.
  Lanes of(llvm::Value *value, kbrt::FloatFormat format);
  Lanes of(llvm::Value *value) { return of(value, formatOf(value)); }
  Lanes compute(llvm::Instruction &instruction);
  /// These give nothing where an instruction is not followed.
  std::optional<Lanes> followBits(llvm::Instruction &instruction);
  std::optional<Lanes> selectNumbers(llvm::SelectInst &select);
  std::optional<Lanes> extractNumbers(llvm::ExtractElementInst &extract);
  std::optional<Lanes> insertNumbers(llvm::InsertElementInst &insert);
  std::optional<Lanes> permuteNumbers(llvm::ShuffleVectorInst &shuffle);
  std::optional<Lanes> shiftNumbers(llvm::BinaryOperator &shift);
  std::optional<Lanes> joinNumbers(llvm::BinaryOperator &bits);
  /// Whether \p value consists of numbers of \p format, or is constant.
  bool isAlike(const llvm::Value *value, kbrt::FloatFormat format) const;
  Lane zero(llvm::IRBuilder<> &b);
  std::optional<Lanes> followCall(llvm::CallInst &call);
  std::optional<Lanes> apply(NamedOperation operation, llvm::CallInst &call);
  Lanes loadNumbers(llvm::IRBuilder<> &b, llvm::Value *pointer, kbrt::FloatFormat format,
                    unsigned count);
  /// Of a value whose making is not followed.
  Lanes exactly(llvm::Value *value, kbrt::FloatFormat format);
  Lanes merge(llvm::PHINode &phi);
  void completePhis();

  kbrt::FloatFormat formatOf(const llvm::Value *value) const { return *carriers.formatOf(value); }
  llvm::Value *element(llvm::IRBuilder<> &b, llvm::Value *value, kbrt::FloatFormat format,
                       unsigned index);

  llvm::Function &function;
  const FloatCarriers carriers;
  LaneBuilder lanes;
  std::map<std::pair<llvm::Value *, kbrt::FloatFormat>, Lanes> known; ///< a constant may be several
  llvm::SmallVector<llvm::PHINode *> incomplete;
};

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_ORACLEINSERTER_H
