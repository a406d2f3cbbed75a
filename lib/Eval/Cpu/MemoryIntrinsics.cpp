//===- MemoryIntrinsics.cpp - Intrinsics that touch memory ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the replacement of memory intrinsics by ordinary loads, stores and
// atomics, so that instrumentation and optimisation see only those.
//
//===----------------------------------------------------------------------===//
#include "Matrix.h"
#include "Steps.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace kbopt::cpu {

/// atomic.OP.gen.{i,f}.{cta,sys}: scopes do not matter to one thread at a time, but to the race
/// check.
static Value *expandAtomic(CallInst &call, ArrayRef<StringRef> parts) {
  IRBuilder<> b(&call);
  Value *address = call.getArgOperand(0), *value = call.getArgOperand(1);
  Type *type = value->getType();
  Align align(type->getPrimitiveSizeInBits() / 8);
  const SyncScope::ID scope = is_contained(parts, "cta")
                                  ? call.getContext().getOrInsertSyncScopeID("block")
                                  : SyncScope::System;
  if (parts[1] == "cas")
    return b.CreateExtractValue(b.CreateAtomicCmpXchg(address, value, call.getArgOperand(2), align,
                                                      AtomicOrdering::Monotonic,
                                                      AtomicOrdering::Monotonic, scope),
                                0);
  using Rmw = AtomicRMWInst;
  auto operation = StringSwitch<Rmw::BinOp>(parts[1])
                       .Case("add", type->isFloatingPointTy() ? Rmw::FAdd : Rmw::Add)
                       .Case("and", Rmw::And)
                       .Case("or", Rmw::Or)
                       .Case("xor", Rmw::Xor)
                       .Case("exch", Rmw::Xchg)
                       .Case("min", Rmw::Min)
                       .Case("max", Rmw::Max)
                       .Case("inc", Rmw::UIncWrap)
                       .Case("dec", Rmw::UDecWrap)
                       .Default(Rmw::BAD_BINOP);
  if (operation == Rmw::BAD_BINOP)
    return nullptr;
  return b.CreateAtomicRMW(operation, address, value, align, AtomicOrdering::Monotonic, scope);
}

void noteAsyncCopy(ImageContext &context, IRBuilderBase &b, const Instruction &at,
                   Value *destination, unsigned bytes) {
  if (context.mode != kbrt::ImageMode::Check)
    return;
  unsigned site = context.addSite(at, kbrt::AccessKind::Store, "cp.async");
  context.callAtSite(b, "kbrt_async_copy", site,
                     {b.CreateAddrSpaceCast(destination, b.getPtrTy()), b.getInt64(bytes)});
}

void noteAsyncWait(ImageContext &context, IRBuilderBase &b, Value *groups) {
  if (context.mode != kbrt::ImageMode::Check)
    return;
  if (groups)
    b.CreateCall(context.runtime("kbrt_async_wait"), {b.CreateZExtOrTrunc(groups, b.getInt32Ty())});
  else
    b.CreateCall(context.runtime("kbrt_async_commit"), {});
}

/// cp.async.{ca,cg}.shared.global.SIZE{.s}(destination, source{, size})
static bool expandAsyncCopy(ImageContext &context, CallInst &call, ArrayRef<StringRef> parts) {
  if (parts[2] != "ca" && parts[2] != "cg")
    return false;
  unsigned bytes = 0;
  if (parts[5].getAsInteger(10, bytes))
    return false;
  IRBuilder<> b(&call);
  Value *destination = call.getArgOperand(0), *source = call.getArgOperand(1);
  if (call.arg_size() > 2) {
    b.CreateMemSet(destination, b.getInt8(0), bytes, Align(bytes));
    b.CreateMemCpy(destination, Align(bytes), source, Align(bytes), call.getArgOperand(2));
  } else {
    Type *type =
        bytes == 16 ? (Type *)FixedVectorType::get(b.getInt64Ty(), 2) : b.getIntNTy(bytes * 8);
    b.CreateAlignedStore(b.CreateAlignedLoad(type, source, Align(bytes)), destination,
                         Align(bytes));
  }
  noteAsyncCopy(context, b, call, destination, bytes);
  call.eraseFromParent();
  return true;
}

/// A copy of an aligned vector type is one access on a GPU; left to SROA it
/// would become pieces that nothing puts together again.
static void expandCopy(MemCpyInst &copy) {
  auto *length = dyn_cast<ConstantInt>(copy.getLength());
  Align align = std::min(copy.getDestAlign().valueOrOne(), copy.getSourceAlign().valueOrOne());
  uint64_t bytes = length ? length->getZExtValue() : 0;
  unsigned step = bytes % 16 == 0 && align >= Align(16) ? 16 : 8;
  if (copy.isVolatile() || !bytes || bytes > 64 || bytes % step || align < Align(step))
    return;
  IRBuilder<> b(&copy);
  Type *type = FixedVectorType::get(b.getFloatTy(), step / 4);
  for (uint64_t at = 0; at < bytes; at += step) {
    Value *from = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), copy.getRawSource(), at);
    Value *to = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), copy.getRawDest(), at);
    b.CreateAlignedStore(b.CreateAlignedLoad(type, from, Align(step)), to, Align(step));
  }
  copy.eraseFromParent();
}

static void expandCall(ImageContext &context, CallInst &call) {
  if (auto *copy = dyn_cast<MemCpyInst>(&call))
    return expandCopy(*copy);
  StringRef name = call.getCalledFunction()->getName();
  if (name.starts_with("llvm.nvvm.wmma.")) {
    expandWmma(context, call);
    return;
  }
  if (!name.consume_front("llvm.nvvm."))
    return;
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  Value *replacement = nullptr;
  IRBuilder<> b(&call);
  if (parts[0] == "atomic" && parts.size() >= 3) {
    replacement = expandAtomic(call, parts);
  } else if (name.starts_with("cp.async.c") && parts.size() >= 6) {
    expandAsyncCopy(context, call, parts);
    return;
  } else if (parts[0] == "ldu" || parts[0] == "ldg") {
    LoadInst *load =
        b.CreateAlignedLoad(call.getType(), call.getArgOperand(0),
                            Align(cast<ConstantInt>(call.getArgOperand(1))->getZExtValue()));
    load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(call.getContext(), {}));
    replacement = load;
  } else if (name.starts_with("ldmatrix.sync.aligned.m8n8.x") && name.contains(".b16")) {
    unsigned count = parts[4] == "x4" ? 4 : parts[4] == "x2" ? 2 : 1;
    Value *row = b.CreateAddrSpaceCast(call.getArgOperand(0), b.getPtrTy());
    std::vector<Value *> values =
        emitLoadMatrix(context, b, call, row, count, is_contained(parts, "trans"));
    replacement = values[0];
    if (call.getType()->isStructTy()) {
      replacement = PoisonValue::get(call.getType());
      for (unsigned n = 0; n < count; ++n)
        replacement = b.CreateInsertValue(replacement, values[n], n);
    }
  }
  if (!replacement)
    return;
  call.replaceAllUsesWith(replacement);
  call.eraseFromParent();
}

void expandMemoryIntrinsics(ImageContext &context) {
  SmallVector<CallInst *> calls;
  for (Function &function : context.module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction))
        if (Function *callee = call->getCalledFunction(); callee && callee->isIntrinsic())
          calls.push_back(call);
  for (CallInst *call : calls)
    expandCall(context, *call);
}

} // namespace kbopt::cpu
