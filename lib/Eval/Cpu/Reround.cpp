//===- Reround.cpp - A direction of rounding for each operation -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what kb-opt/Eval/DirectedRounding.h asks of device bitcode. The image runs with
// the host rounding up; rounding down is rounding up between two changes of sign, as in
// interval arithmetic. A drawn direction is such a change of sign by a bit of the operands.
//
//===----------------------------------------------------------------------===//
#include "Reround.h"
#include "kb-opt/Eval/DirectedRounding.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Metadata.h"

using namespace llvm;

namespace kbopt::cpu {

static bool isFused(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call &&
         (call->getIntrinsicID() == Intrinsic::fma || call->getIntrinsicID() == Intrinsic::fmuladd);
}

/// Operands whose signs turn the sign of what \p instruction computes before it rounds; none if
/// it does not round float32 or float64.
static SmallVector<unsigned, 2> signOperands(const Instruction &instruction) {
  Type *type = instruction.getType();
  if (!type->isFloatTy() && !type->isDoubleTy())
    return {};
  switch (instruction.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
    return {0, 1};
  case Instruction::FMul:
  case Instruction::FDiv:
  case Instruction::FPTrunc:
    return {0};
  case Instruction::Call:
    if (isFused(instruction))
      return {0, 2};
    return {};
  default:
    return {};
  }
}

/// Numbers of float64 that are taken apart or put together, which narrowing would ruin.
static bool usesBitsOfFloat64(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (auto *cast = dyn_cast<BitCastInst>(&instruction);
          cast && (cast->getSrcTy()->isDoubleTy() || cast->getDestTy()->isDoubleTy()))
        return true;
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (Function *callee = call->getCalledFunction())
          if (callee->getName().starts_with("llvm.nvvm.d2i") ||
              callee->getName().starts_with("llvm.nvvm.lohi") ||
              (callee->getName().starts_with("__nv_") && callee->getReturnType()->isDoubleTy()))
            return true;
    }
  return false;
}

namespace {
/// Of one module.
class Rerounder {
public:
  Rerounder(unsigned pattern, bool narrow, bool isDrawn)
      : pattern(pattern), narrow(narrow), isDrawn(isDrawn) {}
  void rewrite(Instruction &instruction, ArrayRef<unsigned> signs);

private:
  /// The optimiser sees no further than this.
  Value *fence(Value *value) {
    return keep(builder->CreateIntrinsic(Intrinsic::arithmetic_fence, {value->getType()}, {value}));
  }
  Value *keep(Value *value) {
    if (auto *made = dyn_cast<Instruction>(value))
      own.insert(made);
    return value;
  }

  /// The sign bit or zero, as an integer of 64 bits, by a hash of the operands' bits.
  Value *drawnSign(Instruction &instruction);
  /// \p value with its sign changed where \p sign, of drawnSign, says so.
  Value *withSign(Value *value, Value *sign);

  unsigned pattern;
  bool narrow, isDrawn;
  uint64_t ordinal = 0;
  IRBuilder<> *builder = nullptr;
  SmallPtrSet<Value *, 8> own; ///< made for the instruction at hand
};
} // namespace

static Value *bitsOf(IRBuilder<> &builder, Value *value) {
  return builder.CreateBitCast(value, builder.getIntNTy(value->getType()->getScalarSizeInBits()));
}

Value *Rerounder::drawnSign(Instruction &instruction) {
  // Multipliers of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  Value *hash = builder->getInt64((ordinal + 1) * 0x9e3779b97f4a7c15u + pattern);
  for (Value *operand : instruction.operand_values())
    if (operand->getType()->isFloatingPointTy()) {
      Value *bits = builder->CreateZExt(bitsOf(*builder, operand), builder->getInt64Ty());
      hash = builder->CreateMul(builder->CreateXor(hash, bits),
                                builder->getInt64(0xbf58476d1ce4e5b9u));
      hash = builder->CreateXor(hash, builder->CreateLShr(hash, 29));
    }
  hash = builder->CreateMul(hash, builder->getInt64(0x94d049bb133111ebu));
  return builder->CreateAnd(hash, builder->getInt64(uint64_t(1) << 63));
}

Value *Rerounder::withSign(Value *value, Value *sign) {
  const unsigned width = value->getType()->getScalarSizeInBits();
  Value *mask =
      builder->CreateTrunc(builder->CreateLShr(sign, 64 - width), builder->getIntNTy(width));
  Value *bits = keep(bitsOf(*builder, value));
  return builder->CreateBitCast(builder->CreateXor(bits, mask), value->getType());
}

void Rerounder::rewrite(Instruction &instruction, ArrayRef<unsigned> signs) {
  const bool isDown = pattern && !isDrawn && roundsDown(pattern, ordinal);
  const bool isNarrowed = narrow && instruction.getType()->isDoubleTy();
  ++ordinal;
  if (!isDown && !isNarrowed && !isDrawn)
    return;
  own.clear();
  if (isNarrowed)
    for (Use &operand : instruction.operands())
      if (auto *constant = dyn_cast<ConstantFP>(operand.get());
          constant && constant->getType()->isDoubleTy())
        operand.set(ConstantFP::get(constant->getType(),
                                    static_cast<float>(constant->getValueAPF().convertToDouble())));
  IRBuilder<> before(&instruction), after(instruction.getNextNode());
  if (isDown) {
    builder = &before;
    for (unsigned index : signs)
      instruction.setOperand(index, fence(builder->CreateFNeg(instruction.getOperand(index))));
  }
  Value *sign = nullptr;
  if (isDrawn) {
    builder = &before;
    sign = drawnSign(instruction);
    for (unsigned index : signs)
      instruction.setOperand(index, fence(withSign(instruction.getOperand(index), sign)));
  }
  builder = &after;
  Value *result = fence(&instruction);
  if (isNarrowed) {
    Value *narrowed = keep(builder->CreateFPTrunc(result, builder->getFloatTy()));
    result = fence(keep(builder->CreateFPExt(fence(narrowed), builder->getDoubleTy())));
  }
  if (isDown)
    result = keep(builder->CreateFNeg(result));
  if (isDrawn)
    result = withSign(result, sign);
  instruction.replaceUsesWithIf(result, [&](Use &use) { return !own.count(use.getUser()); });
}

void reround(ImageContext &context) {
  NamedMDNode *asked = context.module.getNamedMetadata(reroundingMetadata);
  if (!asked || asked->getNumOperands() == 0)
    return;
  auto number = [&](unsigned index) {
    return static_cast<unsigned>(
        mdconst::extract<ConstantInt>(asked->getOperand(0)->getOperand(index))->getZExtValue());
  };
  Rerounder rerounder(number(0), number(1) != 0 && !usesBitsOfFloat64(context.module),
                      number(2) != 0);
  for (Function &function : context.module) {
    SmallVector<std::pair<Instruction *, SmallVector<unsigned, 2>>> found;
    for (Instruction &instruction : instructions(function))
      if (SmallVector<unsigned, 2> signs = signOperands(instruction); !signs.empty())
        found.push_back({&instruction, std::move(signs)});
    for (auto &[instruction, signs] : found)
      rerounder.rewrite(*instruction, signs);
  }
}

} // namespace kbopt::cpu
