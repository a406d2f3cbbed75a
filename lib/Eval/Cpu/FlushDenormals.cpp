//===- FlushDenormals.cpp - Single precision without denormals ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns -ftz=true (part of -use_fast_math): single-precision operations take
// denormals for zero and give zero for them, double precision is untouched.
// The host's own switch would change doubles too.
//
//===----------------------------------------------------------------------===//
#include "FloatOps.h"
#include "Steps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace kbopt::cpu {

static bool isSingle(const Type *type) { return type->getScalarType()->isFloatTy(); }

/// PTX has an .ftz form of it: arithmetic, comparisons, conversions, but not
/// moves, sign operations, loads and stores.
static bool flushes(const Instruction &instruction) {
  switch (instruction.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FDiv:
  case Instruction::FRem:
  case Instruction::FPTrunc:
    return isSingle(instruction.getType());
  case Instruction::FCmp:
  case Instruction::FPExt:
    return isSingle(instruction.getOperand(0)->getType());
  case Instruction::Call:
    break;
  default:
    return false;
  }
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  if (!intrinsic || !intrinsic->arg_size())
    return false;
  switch (intrinsic->getIntrinsicID()) {
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::sqrt:
  case Intrinsic::exp2:
  case Intrinsic::log2:
  case Intrinsic::sin:
  case Intrinsic::cos:
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimumnum:
  case Intrinsic::maximumnum:
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
    return isSingle(intrinsic->getArgOperand(0)->getType());
  default:
    return false;
  }
}

void flushDenormals(ImageContext &context) {
  if (!context.flushDenormals)
    return;
  for (Function &function : context.module) {
    // From here on denormals exist, or the tests for them would be folded away.
    function.removeFnAttr("denormal-fp-math-f32");
    function.removeFnAttr("denormal-fp-math");
    if (function.getName().starts_with("kb.directed."))
      continue;
    SetVector<Instruction *> found;
    for (Instruction &instruction : instructions(function))
      if (flushes(instruction))
        found.insert(&instruction);
    // Results first, so that operands that come from such a result are known.
    SmallPtrSet<Value *, 32> clean;
    for (Instruction *instruction : found) {
      if (!isSingle(instruction->getType()))
        continue;
      IRBuilder<> b(instruction->getNextNode());
      b.SetCurrentDebugLocation(instruction->getDebugLoc());
      Value *placeholder = b.CreateFreeze(instruction);
      Value *flushed = FloatOps(context, b).flush(placeholder);
      instruction->replaceUsesWithIf(flushed,
                                     [&](Use &use) { return use.getUser() != placeholder; });
      clean.insert(flushed);
    }
    for (Instruction *instruction : found)
      for (Use &operand : instruction->operands()) {
        Value *value = operand.get();
        if (!isSingle(value->getType()) || isa<Constant>(value) || clean.contains(value))
          continue;
        IRBuilder<> b(instruction);
        operand.set(FloatOps(context, b).flush(value));
      }
  }
}

} // namespace kbopt::cpu
