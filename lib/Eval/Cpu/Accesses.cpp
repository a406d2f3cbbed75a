//===- Accesses.cpp - The memory accesses of device code ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Accesses.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace kbopt::cpu {

uint64_t localBytes(const Value &local, const DataLayout &layout) {
  if (auto *alloca = dyn_cast<AllocaInst>(&local))
    return alloca->getAllocationSize(layout).value_or(TypeSize::getFixed(0)).getFixedValue();
  return layout.getTypeAllocSize(cast<Argument>(local).getParamByValType());
}

static bool isLocal(const Value &value) {
  if (auto *argument = dyn_cast<Argument>(&value))
    return argument->hasByValAttr();
  return isa<AllocaInst>(value);
}

/// Whether every use of \p value, which lies \p offset into \p size bytes, is
/// an access at a constant place inside.
static bool isSafe(const Value &value, int64_t offset, uint64_t size, const DataLayout &layout) {
  auto fits = [&](Type *type) {
    return offset >= 0 && offset + layout.getTypeStoreSize(type).getFixedValue() <= size;
  };
  return all_of(value.uses(), [&](const Use &use) {
    const User *user = use.getUser();
    if (auto *load = dyn_cast<LoadInst>(user))
      return fits(load->getType());
    if (auto *store = dyn_cast<StoreInst>(user))
      return use.getOperandNo() == 1 && fits(store->getValueOperand()->getType());
    if (auto *gep = dyn_cast<GEPOperator>(user)) {
      APInt step(layout.getIndexTypeSizeInBits(gep->getType()), 0);
      return gep->accumulateConstantOffset(layout, step) &&
             isSafe(*gep, offset + step.getSExtValue(), size, layout);
    }
    if (isa<AddrSpaceCastInst>(user))
      return isSafe(*user, offset, size, layout);
    if (auto *memory = dyn_cast<MemIntrinsic>(user)) {
      auto *length = dyn_cast<ConstantInt>(memory->getLength());
      return length && offset >= 0 && offset + length->getZExtValue() <= size;
    }
    if (auto *call = dyn_cast<CallInst>(user)) {
      const Function *callee = call->getCalledFunction();
      return callee &&
             (call->isLifetimeStartOrEnd() || callee->getName() == "vprintf" ||
              callee->getName() == "kbrt_mma" || callee->getName() == "kbrt_wgmma" ||
              callee->getName().starts_with("kbrt_tensor_") || callee->getName() == "__assertfail");
    }
    return false;
  });
}

FunctionAccesses::FunctionAccesses(Function &function) {
  const DataLayout &layout = function.getParent()->getDataLayout();
  auto consider = [&](Value &value) {
    if (isLocal(value) && !isSafe(value, 0, localBytes(value, layout), layout))
      locals.insert(&value);
  };
  for (Argument &argument : function.args())
    consider(argument);
  for (Instruction &instruction : instructions(function))
    consider(instruction);
  auto matters = [&](Value *pointer) {
    const Value *object = getUnderlyingObject(pointer, 0);
    if (isLocal(*object))
      return locals.contains(const_cast<Value *>(object));
    if (auto *global = dyn_cast<GlobalVariable>(object)) // tables of this builder
      return !global->getName().starts_with("kb");
    return true;
  };
  for (Instruction &instruction : instructions(function)) {
    Access access;
    access.instruction = &instruction;
    Type *type = nullptr;
    if (auto *load = dyn_cast<LoadInst>(&instruction)) {
      access.pointer = load->getPointerOperand();
      type = load->getType();
    } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
      access.pointer = store->getPointerOperand();
      access.kind = kbrt::AccessKind::Store;
      type = store->getValueOperand()->getType();
    } else if (auto *update = dyn_cast<AtomicRMWInst>(&instruction)) {
      access.pointer = update->getPointerOperand();
      access.kind = kbrt::AccessKind::Atomic;
      type = update->getType();
    } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
      access.pointer = exchange->getPointerOperand();
      access.kind = kbrt::AccessKind::Atomic;
      type = exchange->getNewValOperand()->getType();
    } else if (auto *memory = dyn_cast<MemIntrinsic>(&instruction)) {
      access.pointer = memory->getRawDest();
      access.kind = kbrt::AccessKind::Store;
      access.length = memory->getLength();
      if (auto *transfer = dyn_cast<MemTransferInst>(memory))
        access.source = transfer->getRawSource();
      if (auto *constant = dyn_cast<ConstantInt>(access.length))
        access.bytes = constant->getZExtValue();
    }
    if (!access.pointer || (!matters(access.pointer) && !(access.source && matters(access.source))))
      continue;
    if (type)
      access.bytes = layout.getTypeStoreSize(type);
    access.space = spaceOf(*access.pointer);
    accesses.push_back(access);
  }
}

kbrt::MemorySpace spaceOf(const Value &pointer) {
  using Space = kbrt::MemorySpace;
  auto ofAddressSpace = [](unsigned space) {
    switch (space) {
    case Global:
      return Space::Global;
    case Shared:
      return Space::Shared;
    case Const:
      return Space::Constant;
    case Local:
      return Space::Local;
    case Param:
      return Space::Param;
    default:
      return Space::Generic;
    }
  };
  if (Space space = ofAddressSpace(pointer.getType()->getPointerAddressSpace());
      space != Space::Generic)
    return space;
  SmallVector<const Value *> objects;
  getUnderlyingObjects(&pointer, objects, nullptr, 0);
  std::optional<Space> common;
  for (const Value *object : objects) {
    Space space = ofAddressSpace(object->getType()->getPointerAddressSpace());
    if (isa<AllocaInst>(object)) {
      space = Space::Local;
    } else if (auto *argument = dyn_cast<Argument>(object)) {
      // What the host passes to a kernel points to device memory.
      if (argument->hasByValAttr())
        space = Space::Param;
      else if (argument->getParent()->getCallingConv() == CallingConv::PTX_Kernel)
        space = Space::Global;
    }
    if (common && *common != space)
      return Space::Generic;
    common = space;
  }
  return common.value_or(Space::Generic);
}

static std::string arrayName(const Value &pointer) {
  const Value *object = getUnderlyingObject(&pointer, 0);
  if (auto *global = dyn_cast<GlobalVariable>(object)) {
    SmallVector<DIGlobalVariableExpression *, 1> expressions;
    global->getDebugInfo(expressions);
    return expressions.empty() ? global->getName().str()
                               : expressions[0]->getVariable()->getName().str();
  }
  if (isa<Argument>(object) || isa<AllocaInst>(object)) // inlining adds ".i"
    return object->getName().split('.').first.str();
  return "";
}

/// Whether \p instruction is written with release semantics, as by `cuda::atomic_ref`.
static bool isOnlyReleasing(const Instruction &instruction) {
  AtomicOrdering ordering = AtomicOrdering::NotAtomic;
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    ordering = store->getOrdering();
  else if (auto *update = dyn_cast<AtomicRMWInst>(&instruction))
    ordering = update->getOrdering();
  else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    ordering = exchange->getSuccessOrdering();
  return ordering == AtomicOrdering::Release || ordering == AtomicOrdering::AcquireRelease;
}

static std::string mnemonic(const Access &access) {
  std::string text;
  raw_string_ostream stream(text);
  Type *type = nullptr;
  if (auto *load = dyn_cast<LoadInst>(access.instruction)) {
    stream << (load->isAtomic() ? "ld.atomic" : "ld");
    type = load->getType();
  } else if (auto *store = dyn_cast<StoreInst>(access.instruction)) {
    stream << "st";
    type = store->getValueOperand()->getType();
  } else if (auto *update = dyn_cast<AtomicRMWInst>(access.instruction)) {
    stream << (update->use_empty() ? "red." : "atom.")
           << AtomicRMWInst::getOperationName(update->getOperation());
    type = update->getType();
  } else if (isa<AtomicCmpXchgInst>(access.instruction)) {
    stream << "atom.cas";
  } else {
    stream << (access.source ? "copy" : "fill");
  }
  if (auto *vector = dyn_cast_or_null<FixedVectorType>(type)) {
    stream << ".v" << vector->getNumElements();
    type = vector->getElementType();
  }
  if (type)
    stream << '.' << *type;
  // CUDA's own atomic functions order nothing; clang has them as sequentially consistent.
  if (isOnlyReleasing(*access.instruction))
    stream << ".release";
  if (std::optional<SyncScope::ID> scope = getAtomicSyncScopeID(access.instruction)) {
    // By name: the numbers are a context's own.
    SmallVector<StringRef> names;
    access.instruction->getContext().getSyncScopeNames(names);
    if (*scope < names.size() && names[*scope] == "block")
      stream << ".cta";
  }
  return text;
}

unsigned addAccessSite(ImageContext &context, const Access &access) {
  unsigned index = context.addSite(*access.instruction, access.kind, mnemonic(access), access.space,
                                   access.bytes);
  Site &site = context.sites[index];
  site.array = arrayName(*access.pointer);
  site.isVolatile = access.instruction->isVolatile() || access.instruction->isAtomic();
  if (isa<LoadInst>(access.instruction)) {
    auto *argument = dyn_cast<Argument>(getUnderlyingObject(access.pointer, 0));
    site.isReadOnly = access.instruction->hasMetadata(LLVMContext::MD_invariant_load) ||
                      (argument && argument->hasNoAliasAttr() && argument->onlyReadsMemory());
  }
  return index;
}

} // namespace kbopt::cpu
