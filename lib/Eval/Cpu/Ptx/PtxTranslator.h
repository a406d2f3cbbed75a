//===- PtxTranslator.h - Inline PTX to IR -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the translation of one parsed asm call: registers, operands, types and
// predicates. The families of instructions are in the .cpp files beside it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_PTX_PTXTRANSLATOR_H
#define KBOPT_LIB_EVAL_CPU_PTX_PTXTRANSLATOR_H

#include "../FloatOps.h"
#include "Ptx.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

namespace kbopt::cpu {

/// A PTX type suffix: its IR type and signedness.
struct PtxType {
  llvm::Type *type = nullptr;
  bool isSigned = false;
  explicit operator bool() const { return type != nullptr; }
  bool isFloat() const { return type->isFPOrFPVectorTy(); }
};

class PtxTranslator {
public:
  PtxTranslator(ImageContext &context, llvm::CallInst &call);

  /// Translates and replaces the call, or returns what was not understood and
  /// leaves the function as it was but for unused code.
  std::optional<std::string> run();

private:
  using Operand = PtxOperand;
  using Instruction = PtxInstruction;

  // Operands and registers.
  PtxType typeOf(llvm::StringRef suffix) const;
  /// The last part that names a type; \p skip counts from the end.
  PtxType instructionType(const Instruction &i, unsigned skip = 0) const;
  llvm::Value *read(const Operand &operand, llvm::Type *type);
  llvm::Value *readRaw(const Operand &operand);
  llvm::Value *readPredicate(const Operand &operand);
  llvm::Value *reservedShared();
  llvm::Value *sharedPointer(llvm::Value *address);
  llvm::Value *readAddress(const Operand &operand, unsigned space);
  void write(const Operand &operand, llvm::Value *value, bool isSigned = false);
  llvm::Value *coerce(llvm::Value *value, llvm::Type *type, bool isSigned = false);
  std::string keyOf(const Operand &operand) const;
  bool bindOperands();
  llvm::Value *nvvm(llvm::StringRef name, llvm::ArrayRef<llvm::Value *> arguments);
  static Modifiers modifiersOf(const Instruction &i);

  bool translate(const Instruction &i);
  bool translatePredicated(const Instruction &i);

  // Families; each answers whether the instruction is its own and understood.
  bool translateMove(const Instruction &i);
  bool translateConvert(const Instruction &i);
  bool translateFp8(const Instruction &i);
  bool translateFloat(const Instruction &i);
  bool translateInteger(const Instruction &i);
  bool translateCarry(const Instruction &i);
  bool translateBits(const Instruction &i);
  bool translateCompare(const Instruction &i);
  bool translateTest(const Instruction &i);
  bool translateLanes(const Instruction &i);
  bool translateMemory(const Instruction &i);
  bool translateAtomic(const Instruction &i);
  bool translateVectorAtomic(const Instruction &i, PtxType type, llvm::Value *address,
                             unsigned count);
  bool translateAsyncCopy(const Instruction &i);
  bool translateSynchronisation(const Instruction &i);
  bool translateMatrix(const Instruction &i);
  bool translateWgmma(const Instruction &i);
  bool multiplyWgmma(const Instruction &i);
  bool translateMbarrier(const Instruction &i);
  bool translateTensorCopy(const Instruction &i);

  llvm::Value *compare(llvm::StringRef op, llvm::Value *x, llvm::Value *y, PtxType type);
  llvm::Value *loadElement(llvm::Type *type, llvm::Value *address, const Instruction &i,
                           unsigned align);

  ImageContext &context;
  llvm::CallInst &call;
  llvm::IRBuilder<> b;
  FloatOps ops;
  PtxText text;
  std::map<std::string, llvm::Value *> values;
  std::map<std::string, llvm::Type *> types;
  std::vector<llvm::Type *> outputs;
  llvm::Value *carry = nullptr;
};

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_PTX_PTXTRANSLATOR_H
