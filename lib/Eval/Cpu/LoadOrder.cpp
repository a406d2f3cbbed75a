//===- LoadOrder.cpp - Which loads can wait together -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LoadOrder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace kbopt::cpu {

namespace {

bool changes(const Access &access) {
  return access.kind == kbrt::AccessKind::Store || access.kind == kbrt::AccessKind::Atomic;
}

/// Whether a parameter says that what it points to is reached through nothing else.
bool isKeptApart(const Value &object) {
  auto *argument = dyn_cast<Argument>(&object);
  return isa<AllocaInst>(object) ||
         (argument && (argument->hasNoAliasAttr() || argument->hasByValAttr()));
}

/// Whether the counter of \p loop grows by a constant, so that the compiler sees that accesses of
/// two iterations to one array are apart.
bool hasConstantStep(const Loop *loop) {
  if (!loop || !loop->getLoopLatch())
    return false;
  for (const PHINode &phi : loop->getHeader()->phis())
    if (auto *next = dyn_cast<BinaryOperator>(phi.getIncomingValueForBlock(loop->getLoopLatch()));
        next && phi.getType()->isIntegerTy() && next->getOpcode() == Instruction::Add &&
        is_contained(next->operands(), &phi))
      for (const Value *operand : next->operands())
        if (isa<ConstantInt>(operand))
          return true;
  return false;
}

/// Whether the compiler has to expect that \p store changes what \p load reads; \p acrossIterations
/// of \p loop.
bool mayChange(const Access &store, const Access &load, const Loop *loop, bool acrossIterations) {
  using Space = kbrt::MemorySpace;
  Space a = spaceOf(*store.pointer), b = spaceOf(*load.pointer);
  if (b == Space::Constant || b == Space::Param ||
      (a != b && a != Space::Generic && b != Space::Generic) ||
      load.instruction->hasMetadata(LLVMContext::MD_invariant_load))
    return false;
  const Value *written = getUnderlyingObject(store.pointer, 0),
              *read = getUnderlyingObject(load.pointer, 0);
  if (written == read) {
    if (acrossIterations)
      return !hasConstantStep(loop);
    // Two places at constant distance from each other.
    const DataLayout &layout = load.instruction->getDataLayout();
    APInt x(layout.getIndexTypeSizeInBits(store.pointer->getType()), 0),
        y(layout.getIndexTypeSizeInBits(load.pointer->getType()), 0);
    const Value *from = store.pointer->stripAndAccumulateConstantOffsets(layout, x, true),
                *to = load.pointer->stripAndAccumulateConstantOffsets(layout, y, true);
    return from != to || x.getSExtValue() == y.getSExtValue();
  }
  bool areVariables = isa<GlobalVariable>(written) && isa<GlobalVariable>(read);
  return !areVariables && !isKeptApart(*written) && !isKeptApart(*read);
}

} // namespace

DenseMap<const Instruction *, LoadOrder> loadOrders(Function &function, const LoopInfo &loops,
                                                    ArrayRef<Access> accesses, unsigned &groups) {
  DenseMap<const Instruction *, const Access *> accessOf;
  for (const Access &access : accesses)
    accessOf[access.instruction] = &access;
  MapVector<const Loop *, SmallVector<const Access *>>
      bodies; // in the order of the code, without inner loops
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function))
    for (Instruction &instruction : *block)
      if (const Access *access = accessOf.lookup(&instruction))
        bodies[loops.getLoopFor(block)].push_back(access);
  DenseMap<const Instruction *, LoadOrder> orders;
  for (auto &[loop, body] : bodies) {
    bool isLeftAlone = loop && findOptionMDForLoop(loop, "llvm.loop.unroll.disable");
    SmallVector<const Access *> stores, since;
    copy_if(body, std::back_inserter(stores),
            [](const Access *access) { return changes(*access); });
    ++groups;
    for (const Access *access : body) {
      if (changes(*access)) {
        since.push_back(access);
        continue;
      }
      if (any_of(since,
                 [&](const Access *store) { return mayChange(*store, *access, loop, false); })) {
        ++groups;
        since.clear();
      }
      bool isHeld = loop && any_of(stores, [&](const Access *store) {
                      return mayChange(*store, *access, loop, true);
                    });
      orders[access->instruction] = {groups, isLeftAlone || isHeld};
    }
  }
  return orders;
}

} // namespace kbopt::cpu
