//===- SpinLoops.cpp - Loops that wait for another thread -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the places where a thread must let others run: a loop without a barrier
// whose end depends on an atomic or volatile read. Without a yield there, the
// thread that is waited for would never get its turn.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace kbopt::cpu {

/// A read whose result only another thread can change for the better. Taking a
/// ticket, or trying again with the value just read, makes progress by itself.
static bool isSharedRead(const Instruction &instruction, const Loop &loop) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->isVolatile() || load->isAtomic();
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return loop.isLoopInvariant(exchange->getCompareOperand());
  if (auto *update = dyn_cast<AtomicRMWInst>(&instruction)) {
    auto *operand = dyn_cast<ConstantInt>(update->getValOperand());
    return update->getOperation() == AtomicRMWInst::Xchg || (operand && operand->isZero()) ||
           update->getOperation() == AtomicRMWInst::Or ||
           update->getOperation() == AtomicRMWInst::And;
  }
  return false;
}

/// Whether \p value is computed inside \p loop from such a read.
static bool dependsOnSharedRead(const Value *value, const Loop &loop,
                                SmallPtrSetImpl<const Value *> &seen) {
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction || !loop.contains(instruction) || !seen.insert(value).second)
    return false;
  if (isSharedRead(*instruction, loop))
    return true;
  return any_of(instruction->operands(),
                [&](const Use &operand) { return dependsOnSharedRead(operand, loop, seen); });
}

static bool waits(const Loop &loop) {
  SmallVector<BasicBlock *> exiting;
  loop.getExitingBlocks(exiting);
  return any_of(exiting, [&](BasicBlock *block) {
    SmallPtrSet<const Value *, 16> seen;
    Instruction *terminator = block->getTerminator();
    return any_of(terminator->operands(),
                  [&](const Use &operand) { return dependsOnSharedRead(operand, loop, seen); });
  });
}

void markSpinLoops(ImageContext &context) {
  for (Function &function : context.module) {
    if (function.isDeclaration())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (Loop *loop : loops.getLoopsInPreorder()) {
      if (!waits(*loop))
        continue;
      // At the header: where the loop goes round, whatever way.
      BasicBlock *header = loop->getHeader();
      IRBuilder<> builder(header, header->getFirstInsertionPt());
      builder.SetCurrentDebugLocation(loop->getStartLoc());
      unsigned site = context.addSite(*builder.GetInsertPoint(), kbrt::AccessKind::Spin, "spin");
      context.callAtSite(builder, "kbrt_yield", site, {});
    }
  }
}

bool usesAtomics(const ImageContext &context, Function &root) {
  for (Function *function : context.reachableFrom(root))
    for (Instruction &instruction : instructions(*function))
      if (isa<AtomicRMWInst>(instruction) || isa<AtomicCmpXchgInst>(instruction))
        return true;
  return false;
}

} // namespace kbopt::cpu
