//===- ExpandMinMax.cpp - Minima and maxima as comparisons ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM 22 loses the number where llvm.maximumnum and llvm.minimumnum are given a NaN and the host
// has AVX-512: a chain of four fmaxf of which one argument is NaN gives NaN.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace kbopt::cpu {

/// The number where one side is none; of two zeros, the negative one is the lesser.
static Value *expanded(IRBuilder<> &b, Value *x, Value *y, bool isMax) {
  Type *bits = x->getType()->getWithNewType(b.getIntNTy(x->getType()->getScalarSizeInBits()));
  Value *isFirst = isMax ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
  Value *picked = b.CreateSelect(isFirst, x, y);
  picked = b.CreateSelect(b.CreateFCmpUNO(y, y), x, picked);
  Value *first = b.CreateBitCast(x, bits), *second = b.CreateBitCast(y, bits);
  Value *same = isMax ? b.CreateAnd(first, second) : b.CreateOr(first, second);
  return b.CreateSelect(b.CreateFCmpOEQ(x, y), b.CreateBitCast(same, x->getType()), picked);
}

void expandMinMax(Module &module) {
  SmallVector<IntrinsicInst *> calls;
  for (Function &function : module)
    for (Instruction &each : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&each);
          call && (call->getIntrinsicID() == Intrinsic::maximumnum ||
                   call->getIntrinsicID() == Intrinsic::minimumnum))
        calls.push_back(call);
  for (IntrinsicInst *call : calls) {
    IRBuilder<> b(call);
    call->replaceAllUsesWith(expanded(b, call->getArgOperand(0), call->getArgOperand(1),
                                      call->getIntrinsicID() == Intrinsic::maximumnum));
    call->eraseFromParent();
  }
}

} // namespace kbopt::cpu
