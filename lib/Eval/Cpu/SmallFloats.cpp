//===- SmallFloats.cpp - half and bf16 arithmetic on any host -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns operations on 16-bit floats that the host would round twice (fma) or
// has no instructions for (bf16): they are computed wider and rounded once.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"

using namespace llvm;

namespace kbopt::cpu {

namespace {
class SmallFloatLowering {
public:
  explicit SmallFloatLowering(Instruction &instruction)
      : instruction(instruction), b(&instruction) {}
  void run();

private:
  Value *lowerScalar(ArrayRef<Value *> operands, Type *type);
  Value *widen(Value *x);
  Value *narrow(Value *x, Type *type);
  Value *roundToOdd(Value *wide);
  Value *addToOdd(Value *x, Value *y, Type *type);

  Instruction &instruction;
  IRBuilder<> b;
};
} // namespace

/// bf16 is the upper half of a float.
Value *SmallFloatLowering::widen(Value *x) {
  if (!x->getType()->isBFloatTy())
    return x->getType()->isHalfTy() ? b.CreateFPExt(x, b.getFloatTy()) : x;
  Value *bits = b.CreateZExt(b.CreateBitCast(x, b.getInt16Ty()), b.getInt32Ty());
  return b.CreateBitCast(b.CreateShl(bits, 16), b.getFloatTy());
}

/// A double to a float such that rounding it again to 16 bits is exact: an
/// inexact result gets an odd last bit (Boldo and Melquiond, 2008).
Value *SmallFloatLowering::roundToOdd(Value *wide) {
  Type *i32 = b.getInt32Ty();
  Value *nearest = b.CreateFPTrunc(wide, b.getFloatTy());
  Value *back = b.CreateFPExt(nearest, b.getDoubleTy());
  Value *bits = b.CreateBitCast(nearest, i32);
  Value *inexact = b.CreateFCmpONE(back, wide);
  Value *isEven = b.CreateICmpEQ(b.CreateAnd(bits, b.getInt32(1)), b.getInt32(0));
  Value *tooLarge = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(Intrinsic::fabs, back),
                                    b.CreateUnaryIntrinsic(Intrinsic::fabs, wide));
  Value *neighbour = b.CreateAdd(bits, b.CreateSelect(tooLarge, b.getInt32(-1), b.getInt32(1)));
  Value *odd = b.CreateSelect(b.CreateAnd(inexact, isEven), neighbour, bits);
  return b.CreateBitCast(odd, b.getFloatTy());
}

/// The sum of two doubles, a product and a number of \p type, to be rounded again. Sums that become
/// a finite half are exact; bf16 reaches so far that a sum may need an odd last bit for the rest.
Value *SmallFloatLowering::addToOdd(Value *x, Value *y, Type *type) {
  Value *sum = b.CreateFAdd(x, y);
  if (!type->isBFloatTy())
    return sum;
  // What the sum lacks, exactly (Knuth's TwoSum).
  Value *ofY = b.CreateFSub(sum, x);
  Value *rest = b.CreateFAdd(b.CreateFSub(x, b.CreateFSub(sum, ofY)), b.CreateFSub(y, ofY));
  Type *i64 = b.getInt64Ty();
  Value *zero = ConstantFP::get(sum->getType(), 0.0);
  Value *bits = b.CreateBitCast(sum, i64);
  Value *isEven = b.CreateICmpEQ(b.CreateAnd(bits, b.getInt64(1)), b.getInt64(0));
  Value *isInexact = b.CreateAnd(isEven, b.CreateFCmpONE(rest, zero));
  Value *isOutward = b.CreateICmpEQ(b.CreateFCmpOGT(rest, zero), b.CreateFCmpOGT(sum, zero));
  Value *odd = b.CreateAdd(bits, b.CreateSelect(isOutward, b.getInt64(1), b.getInt64(-1)));
  return b.CreateBitCast(b.CreateSelect(isInexact, odd, bits), sum->getType());
}

Value *SmallFloatLowering::narrow(Value *x, Type *type) {
  if (x->getType()->isDoubleTy())
    x = roundToOdd(x);
  if (type->isHalfTy())
    return b.CreateFPTrunc(x, type);
  Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  Value *isOdd = b.CreateAnd(b.CreateLShr(bits, 16), b.getInt32(1));
  Value *rounded = b.CreateAdd(bits, b.CreateAdd(isOdd, b.getInt32(0x7fff)));
  // A NaN stays one: PTX's canonical NaN of bf16.
  rounded = b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt32(0x7fff0000), rounded);
  return b.CreateBitCast(b.CreateTrunc(b.CreateLShr(rounded, 16), b.getInt16Ty()), type);
}

Value *SmallFloatLowering::lowerScalar(ArrayRef<Value *> operands, Type *type) {
  bool toSmall = type->isBFloatTy() || type->isHalfTy();
  switch (instruction.getOpcode()) {
  case Instruction::FPTrunc:
    return narrow(operands[0], type);
  case Instruction::FPExt: {
    Value *wide = widen(operands[0]);
    return wide->getType() == type ? wide : b.CreateFPExt(wide, type);
  }
  case Instruction::SIToFP:
  case Instruction::UIToFP: {
    Value *wide = instruction.getOpcode() == Instruction::SIToFP
                      ? b.CreateSIToFP(operands[0], b.getDoubleTy())
                      : b.CreateUIToFP(operands[0], b.getDoubleTy());
    return narrow(wide, type);
  }
  case Instruction::FCmp:
    return b.CreateFCmp(cast<FCmpInst>(instruction).getPredicate(), widen(operands[0]),
                        widen(operands[1]));
  case Instruction::FNeg: {
    Value *bits = b.CreateBitCast(operands[0], b.getInt16Ty());
    return b.CreateBitCast(b.CreateXor(bits, b.getInt16(0x8000)), type);
  }
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FDiv:
  case Instruction::FRem:
    return narrow(b.CreateBinOp(Instruction::BinaryOps(instruction.getOpcode()), widen(operands[0]),
                                widen(operands[1])),
                  type);
  default:
    break;
  }
  auto &call = cast<IntrinsicInst>(instruction);
  SmallVector<Value *> wide;
  bool isFma =
      call.getIntrinsicID() == Intrinsic::fma || call.getIntrinsicID() == Intrinsic::fmuladd;
  for (Value *operand : operands) {
    Value *w = operand->getType()->isFloatingPointTy() ? widen(operand) : operand;
    wide.push_back(isFma ? b.CreateFPExt(w, b.getDoubleTy()) : w);
  }
  Value *result;
  if (isFma)
    result = addToOdd(b.CreateFMul(wide[0], wide[1]), wide[2], type);
  else if (call.getIntrinsicID() == Intrinsic::fptosi_sat ||
           call.getIntrinsicID() == Intrinsic::fptoui_sat)
    result = b.CreateIntrinsic(call.getIntrinsicID(), {type, b.getFloatTy()}, wide);
  else
    result = b.CreateIntrinsic(call.getIntrinsicID(), {b.getFloatTy()}, wide);
  return toSmall ? narrow(result, type) : result;
}

void SmallFloatLowering::run() {
  Type *type = instruction.getType();
  SmallVector<Value *> operands;
  if (auto *call = dyn_cast<CallInst>(&instruction))
    operands.append(call->arg_begin(), call->arg_end());
  else
    operands.append(instruction.op_begin(), instruction.op_end());
  Value *result = nullptr;
  if (auto *vector = dyn_cast<FixedVectorType>(type)) {
    result = PoisonValue::get(type);
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      SmallVector<Value *> elements;
      for (Value *operand : operands)
        elements.push_back(operand->getType()->isVectorTy() ? b.CreateExtractElement(operand, i)
                                                            : operand);
      result = b.CreateInsertElement(result, lowerScalar(elements, vector->getElementType()), i);
    }
  } else {
    result = lowerScalar(operands, type);
  }
  instruction.replaceAllUsesWith(result);
  instruction.eraseFromParent();
}

static bool needsLowering(const Instruction &instruction) {
  auto isBFloat = [](const Type *type) { return type->getScalarType()->isBFloatTy(); };
  auto isHalf = [](const Type *type) { return type->getScalarType()->isHalfTy(); };
  bool touchesBFloat = isBFloat(instruction.getType());
  for (const Use &operand : instruction.operands())
    touchesBFloat |= isBFloat(operand->getType());
  unsigned opcode = instruction.getOpcode();
  if (opcode == Instruction::FPTrunc && isHalf(instruction.getType()))
    return instruction.getOperand(0)->getType()->getScalarType()->isDoubleTy();
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
    if (isHalf(call->getType()) &&
        (call->getIntrinsicID() == Intrinsic::fma || call->getIntrinsicID() == Intrinsic::fmuladd))
      return true;
    return touchesBFloat && !isa<MemIntrinsic>(call) &&
           (call->getType()->isFPOrFPVectorTy() ||
            call->getIntrinsicID() == Intrinsic::fptosi_sat ||
            call->getIntrinsicID() == Intrinsic::fptoui_sat);
  }
  if (!touchesBFloat)
    return false;
  return instruction.isBinaryOp() || opcode == Instruction::FNeg || opcode == Instruction::FCmp ||
         opcode == Instruction::FPTrunc || opcode == Instruction::FPExt ||
         opcode == Instruction::SIToFP || opcode == Instruction::UIToFP;
}

/// What inline PTX says is an atomic update still: as one thread runs at a time, a
/// load, the operation and a store will do, and the operation is lowered like others.
static void splitUpdates(Function &function) {
  SmallVector<AtomicRMWInst *> updates;
  for (Instruction &instruction : instructions(function))
    if (auto *update = dyn_cast<AtomicRMWInst>(&instruction))
      if (update->getType()->isFPOrFPVectorTy())
        updates.push_back(update);
  for (AtomicRMWInst *update : updates)
    lowerAtomicRMWInst(update);
}

void lowerSmallFloats(ImageContext &context) {
  for (Function &function : context.module) {
    splitUpdates(function);
    SmallVector<Instruction *> found;
    for (Instruction &instruction : instructions(function))
      if (needsLowering(instruction))
        found.push_back(&instruction);
    for (Instruction *instruction : found)
      SmallFloatLowering(*instruction).run();
  }
}

} // namespace kbopt::cpu
