//===- Lowering.cpp - Device calls to host IR and runtime calls -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the walk over what only a GPU has: NVPTX intrinsics, the device C
// library, atomics, and operations whose edge cases differ on the host.
//
//===----------------------------------------------------------------------===//
#include "FloatOps.h"
#include "Intrinsics.h"
#include "Steps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"

using namespace llvm;

namespace kbopt::cpu {

static void replaceCall(CallInst &call, Value *value) {
  if (value && !call.getType()->isVoidTy()) {
    assert(value->getType() == call.getType() && "a lowering of another type");
    call.replaceAllUsesWith(value);
  }
  call.eraseFromParent();
}

/// The thread ends here: a kernel returns, another function asks the runtime.
static void lowerExit(ImageContext &context, ThreadState &state, CallInst &call) {
  if (!state.isKernel()) {
    IRBuilder<> builder(&call);
    builder.CreateCall(context.runtime("kbrt_exit"));
    call.eraseFromParent();
    return;
  }
  BasicBlock *block = call.getParent();
  SplitBlock(block, &call);
  block->getTerminator()->eraseFromParent();
  ReturnInst::Create(call.getContext(), block);
  call.eraseFromParent();
}

/// The functions that device code calls by name.
static Lowered lowerLibraryCall(ImageContext &context, ThreadState &state, CallInst &call,
                                StringRef name) {
  IRBuilder<> b(&call);
  if (name == "vprintf")
    return b.CreateCall(context.runtime("kbrt_vprintf"),
                        {call.getArgOperand(0), call.getArgOperand(1)});
  if (name == "malloc")
    return b.CreateCall(context.runtime("kbrt_malloc"), {call.getArgOperand(0)});
  if (name == "free")
    return b.CreateCall(context.runtime("kbrt_free"), {call.getArgOperand(0)});
  if (name == "__assertfail") {
    unsigned site = context.addSite(call, kbrt::AccessKind::Trap, "assert");
    return context.callAtSite(b, "kbrt_assertfail", site,
                              {call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2),
                               call.getArgOperand(3)});
  }
  if (name == sharedPointerFunction) {
    Type *i64 = b.getInt64Ty();
    Value *base = b.CreatePtrToInt(state.sharedBase(), i64);
    Value *address = call.getArgOperand(0);
    Value *offset = b.CreateSub(address, b.CreateTrunc(base, b.getInt32Ty()));
    Value *pointer = b.CreateAdd(base, b.CreateSExt(offset, i64));
    return b.CreateIntToPtr(pointer, call.getType());
  }
  if (name == "llvm.trap" || name == "llvm.debugtrap" || name == "__trap") {
    unsigned site = context.addSite(call, kbrt::AccessKind::Trap, "trap");
    return context.callAtSite(b, "kbrt_trap", site, {});
  }
  return std::nullopt;
}

/// LLVM's minnum and maxnum, as which it knows libdevice's fmin and fmax, may give either of +0
/// and -0; a GPU has -0 < +0.
static void orderZeros(CallInst &call) {
  Intrinsic::ID id = call.getIntrinsicID();
  if (id != Intrinsic::minnum && id != Intrinsic::maxnum)
    return;
  IRBuilder<> b(&call);
  replaceCall(call, b.CreateBinaryIntrinsic(id == Intrinsic::minnum ? Intrinsic::minimumnum
                                                                    : Intrinsic::maximumnum,
                                            call.getArgOperand(0), call.getArgOperand(1)));
}

static void lowerCall(ImageContext &context, ThreadStates &states, CallInst &call) {
  Function *callee = call.getCalledFunction();
  StringRef name = callee->getName();
  if (name.starts_with("kbrt_") || name == "fegetround" || name == "fesetround")
    return;
  ThreadState &state = states.of(*call.getFunction());
  IRBuilder<> builder(&call);
  if (Lowered value = lowerLibraryCall(context, state, call, name))
    return replaceCall(call, *value);
  if (name.consume_front("llvm.nvvm.")) {
    if (name == "exit")
      return lowerExit(context, state, call);
    SmallVector<StringRef> parts;
    name.split(parts, '.');
    IntrinsicCall lowering{context, state, call, builder, name, parts};
    for (auto *family : {lowerSynchronisation, lowerInteger, lowerArithmetic})
      if (Lowered value = family(lowering))
        return replaceCall(call, *value);
  } else if (callee->isIntrinsic()) {
    return orderZeros(call);
  }
  replaceCall(call,
              context.emitUnsupported(builder, call, demangle(callee->getName()), call.getType()));
}

/// A conversion saturates on the GPU and is poison in IR. nvcc converts to 32 bits and cuts off
/// what a narrower type has no room for.
static void saturateConversion(ImageContext &context, Instruction &conversion) {
  IRBuilder<> b(&conversion);
  Type *type = conversion.getType();
  Type *wide = type->getScalarSizeInBits() < 32 ? type->getWithNewBitWidth(32) : type;
  Value *result = FloatOps(context, b)
                      .saturateToInteger(conversion.getOperand(0), wide,
                                         conversion.getOpcode() == Instruction::FPToSI);
  result = b.CreateTrunc(result, type);
  conversion.replaceAllUsesWith(result);
  conversion.eraseFromParent();
}

/// Division by zero gives all ones on the GPU, remainders too, and a signal on the host. Of 64 bits
/// nvcc divides the lower halves where the upper ones are zero: then only they are all ones.
static void guardDivision(BinaryOperator &division) {
  if (isa<Constant>(division.getOperand(1)))
    return;
  IRBuilder<> b(&division);
  Type *type = division.getType();
  Value *x = division.getOperand(0), *y = division.getOperand(1);
  unsigned opcode = division.getOpcode();
  bool isSigned = opcode == Instruction::SDiv || opcode == Instruction::SRem;
  bool isRemainder = opcode == Instruction::SRem || opcode == Instruction::URem;
  Constant *zero = Constant::getNullValue(type), *one = ConstantInt::get(type, 1);
  Constant *ones = Constant::getAllOnesValue(type);
  Value *undefined = ones;
  if (type->isIntegerTy(64))
    undefined = b.CreateSelect(b.CreateICmpULE(x, b.getInt64(~0u)), b.getInt64(~0u), ones);
  Value *isZero = b.CreateICmpEQ(y, zero);
  Value *unsafe = isZero, *isMinusOne = nullptr;
  if (isSigned) {
    isMinusOne = b.CreateICmpEQ(y, ones);
    unsafe = b.CreateOr(isZero, isMinusOne);
  }
  Value *result = b.CreateBinOp(Instruction::BinaryOps(opcode), x, b.CreateSelect(unsafe, one, y));
  if (isSigned)
    result = b.CreateSelect(isMinusOne, isRemainder ? (Value *)zero : b.CreateNeg(x), result);
  result = b.CreateSelect(isZero, undefined, result);
  division.replaceAllUsesWith(result);
  division.eraseFromParent();
}

/// One thread runs at a time and stores take place in order: a fence means
/// something to the race check only.
static void lowerFence(ImageContext &context, Instruction &fence) {
  if (context.mode == kbrt::ImageMode::Check) {
    IRBuilder<> builder(&fence);
    SmallVector<StringRef> names;
    fence.getContext().getSyncScopeNames(names);
    const SyncScope::ID scope = cast<FenceInst>(fence).getSyncScopeID();
    const bool isOfBlock = scope < names.size() && names[scope] == "block";
    unsigned site =
        context.addSite(fence, kbrt::AccessKind::Barrier, isOfBlock ? "fence.cta" : "fence");
    context.callAtSite(builder, "kbrt_fence", site, {});
  }
  fence.eraseFromParent();
}

static void lowerInstruction(ImageContext &context, Instruction &instruction) {
  switch (instruction.getOpcode()) {
  case Instruction::AtomicRMW:
    lowerAtomicRMWInst(cast<AtomicRMWInst>(&instruction));
    return;
  case Instruction::AtomicCmpXchg:
    lowerAtomicCmpXchgInst(cast<AtomicCmpXchgInst>(&instruction));
    return;
  case Instruction::Fence:
    return lowerFence(context, instruction);
  case Instruction::Load:
    cast<LoadInst>(instruction).setAtomic(AtomicOrdering::NotAtomic);
    return;
  case Instruction::Store:
    cast<StoreInst>(instruction).setAtomic(AtomicOrdering::NotAtomic);
    return;
  case Instruction::FPToSI:
  case Instruction::FPToUI:
    saturateConversion(context, instruction);
    return;
  case Instruction::SDiv:
  case Instruction::UDiv:
  case Instruction::SRem:
  case Instruction::URem:
    guardDivision(cast<BinaryOperator>(instruction));
    return;
  default:
    return;
  }
}

/// The optimiser knows all callers of the helpers that inline PTX got (FloatOps::directed), and may
/// have put their constants into them: calls from here on get helpers of their own.
static void renameOptimizedHelpers(Module &module) {
  for (Function &function : module)
    if (function.getName().starts_with("kb.directed."))
      function.setName("kb.directed.ptx." + function.getName().substr(strlen("kb.directed.")));
}

void lowerIntrinsics(ImageContext &context, ThreadStates &states) {
  renameOptimizedHelpers(context.module);
  for (Function &function : context.module) {
    if (function.isDeclaration())
      continue;
    SmallVector<CallInst *> calls;
    SmallVector<Instruction *> others;
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallInst>(&instruction);
      if (!call)
        others.push_back(&instruction);
      else if (Function *callee = call->getCalledFunction(); callee && callee->isDeclaration())
        calls.push_back(call);
    }
    for (CallInst *call : calls)
      lowerCall(context, states, *call);
    for (Instruction *instruction : others)
      lowerInstruction(context, *instruction);
    removeUnreachableBlocks(function);
  }
  for (Function &function : make_early_inc_range(context.module))
    if (function.getName().starts_with("llvm.nvvm.") && function.use_empty())
      function.eraseFromParent();
}

} // namespace kbopt::cpu
