//===- Checks.cpp - Instrumentation of mode Check -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the calls of kbrt_check_* before accesses and the registration of local
// arrays. Barriers carry their site anyway.
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "Steps.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace kbopt::cpu {

namespace {
class CheckInserter {
public:
  CheckInserter(ImageContext &context, Function &function)
      : context(context), function(function), found(function) {}
  void run();

private:
  void insertCheck(const Access &access);
  void registerLocal(Value &local);
  void call(IRBuilder<> &b, StringRef name, unsigned site, ArrayRef<Value *> arguments);

  ImageContext &context;
  Function &function;
  FunctionAccesses found;
};
} // namespace

void CheckInserter::call(IRBuilder<> &b, StringRef name, unsigned site,
                         ArrayRef<Value *> arguments) {
  SmallVector<Value *> flat;
  for (Value *argument : arguments) {
    Type *type = argument->getType();
    if (type->isPointerTy() && type->getPointerAddressSpace() != Flat)
      argument = b.CreateAddrSpaceCast(argument, b.getPtrTy());
    flat.push_back(argument);
  }
  context.callAtSite(b, name, site, flat);
}

/// Whether what \p load reads is only stored again, perhaps chosen from several.
static bool isOnlyStored(const LoadInst &load) {
  SmallPtrSet<const Instruction *, 8> seen;
  SmallVector<const Instruction *> work{&load};
  while (!work.empty()) {
    const Instruction *value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (const Use &use : value->uses()) {
      const auto *user = cast<Instruction>(use.getUser());
      const auto *select = dyn_cast<SelectInst>(user);
      if (isa<PHINode>(user) || (select && select->getCondition() != value))
        work.push_back(user);
      else if (const auto *store = dyn_cast<StoreInst>(user);
               !store || store->getPointerOperand() == value)
        return false;
    }
  }
  return load.getType()->isIntegerTy();
}

void CheckInserter::insertCheck(const Access &access) {
  IRBuilder<> b(access.instruction);
  unsigned site = addAccessSite(context, access);
  Value *length = access.length ? b.CreateZExtOrTrunc(access.length, b.getInt64Ty())
                                : (Value *)b.getInt64(access.bytes);
  if (access.source)
    return call(b, "kbrt_check_copy", site, {access.pointer, access.source, length});
  StringRef name = access.kind == kbrt::AccessKind::Load    ? "kbrt_check_load"
                   : access.kind == kbrt::AccessKind::Store ? "kbrt_check_store"
                                                            : "kbrt_check_atomic";
  // An access that promises less alignment than it has bytes, as of two neighbouring chars, is one
  // of several parts.
  unsigned part = access.bytes;
  const auto *load = dyn_cast<LoadInst>(access.instruction);
  if (load && isOnlyStored(*load))
    name = "kbrt_check_move";
  if (load)
    part = std::min<uint64_t>(part, load->getAlign().value());
  else if (const auto *store = dyn_cast<StoreInst>(access.instruction))
    part = std::min<uint64_t>(part, store->getAlign().value());
  constexpr unsigned mostChecked = 16;
  if (access.length || access.bytes > mostChecked || access.bytes % part)
    part = access.bytes;
  if (part == access.bytes)
    return call(b, name, site, {access.pointer, length});
  for (unsigned at = 0; at < access.bytes; at += part)
    call(b, name, site,
         {b.CreateConstGEP1_64(b.getInt8Ty(), access.pointer, at), b.getInt64(part)});
}

/// A local array begins uninitialised; a by-value parameter begins complete.
void CheckInserter::registerLocal(Value &local) {
  BasicBlock::iterator at = function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
  IRBuilder<> b(&function.getEntryBlock(), at);
  if (auto *alloca = dyn_cast<AllocaInst>(&local))
    b.SetInsertPoint(alloca->getNextNode());
  Value *length = b.getInt64(localBytes(local, context.module.getDataLayout()));
  Access access;
  access.instruction = &*b.GetInsertPoint();
  access.pointer = &local;
  access.bytes = cast<ConstantInt>(length)->getZExtValue();
  unsigned site = context.addSite(*access.instruction, kbrt::AccessKind::LocalArray, "local",
                                  kbrt::MemorySpace::Local, access.bytes);
  context.sites[site].array = local.getName().split('.').first.str();
  call(b, "kbrt_local_begin", site, {&local, length});
  if (isa<Argument>(local))
    call(b, "kbrt_check_store", site, {&local, length});
  for (BasicBlock &block : function)
    if (auto *ret = dyn_cast<ReturnInst>(block.getTerminator())) {
      IRBuilder<> atEnd(ret);
      Value *pointer = &local;
      if (pointer->getType()->getPointerAddressSpace() != Flat)
        pointer = atEnd.CreateAddrSpaceCast(pointer, atEnd.getPtrTy());
      atEnd.CreateCall(context.runtime("kbrt_local_end"), {pointer});
    }
}

void CheckInserter::run() {
  for (const Access &access : found.accesses)
    insertCheck(access);
  for (Value *local : found.locals)
    registerLocal(*local);
}

void instrumentChecks(ImageContext &context) {
  for (Function &function : context.module)
    if (!function.isDeclaration() && !function.getName().starts_with("kb."))
      CheckInserter(context, function).run();
}

} // namespace kbopt::cpu
