//===- ThreadDependence.cpp - Which values differ between threads ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the fixpoint over data and control dependence. A value joined from
// several paths differs between threads if the branch that chooses the path
// does; a value that leaves a loop does if the threads leave it at different
// iterations.
//
//===----------------------------------------------------------------------===//
#include "ThreadDependence.h"

#include "DeviceModule.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace kbopt::analysis {

ThreadDependence::ThreadDependence(Function &kernel, const LoopInfo &loops,
                                   const PostDominatorTree &postDominators)
    : loops(loops), postDominators(postDominators) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Instruction &inst : instructions(kernel))
      changed |= raise(&inst, transfer(inst));
    for (BasicBlock &block : kernel) {
      Instruction *end = block.getTerminator();
      if (end->getNumSuccessors() < 2)
        continue;
      Value *condition = isa<BranchInst>(end)   ? cast<BranchInst>(end)->getCondition()
                         : isa<SwitchInst>(end) ? cast<SwitchInst>(end)->getCondition()
                                                : nullptr;
      Level level = condition ? this->level(condition) : Level::Thread;
      if (level != Level::Launch)
        changed |= propagateControl(block, level);
    }
  }
}

Level ThreadDependence::level(const Value *value) const {
  if (isa<Constant>(value) || isa<Argument>(value))
    return Level::Launch;
  auto it = levels.find(value);
  return it == levels.end() ? Level::Launch : it->second;
}

Level ThreadDependence::control(const BasicBlock *block) const {
  auto it = controls.find(block);
  return it == controls.end() ? Level::Launch : it->second;
}

Level ThreadDependence::tripLevel(const Loop *loop) const {
  SmallVector<BasicBlock *> exiting;
  loop->getExitingBlocks(exiting);
  Level result = Level::Launch;
  for (BasicBlock *block : exiting) {
    Instruction *end = block->getTerminator();
    if (auto *branch = dyn_cast<BranchInst>(end); branch && branch->isConditional())
      result = std::max(result, level(branch->getCondition()));
    else
      result = Level::Thread;
    // Leaving from under a divergent `if` is divergent.
    if (block != loop->getHeader() && block != loop->getLoopLatch())
      for (BasicBlock *inside : loop->blocks())
        if (inside == block)
          result = std::max(result, control(block));
  }
  return result;
}

bool ThreadDependence::raise(const Value *value, Level level) {
  if (level == Level::Launch)
    return false;
  Level &known = levels[value];
  if (known >= level)
    return false;
  known = level;
  return true;
}

static Level specialRegister(StringRef name) {
  if (name.contains("ntid") || name.contains("nctaid") || name.contains("warpsize") ||
      name.contains("nsmid") || name.contains("nwarpid") || name.contains("gridid"))
    return Level::Launch;
  if (name.contains("ctaid") || name.contains("cluster"))
    return Level::Block;
  return Level::Thread;
}

Level ThreadDependence::transfer(const Instruction &inst) const {
  Level operands = Level::Launch;
  for (const Value *operand : inst.operands())
    if (!isa<BasicBlock>(operand))
      operands = std::max(operands, level(operand));
  if (isa<AllocaInst>(inst) || isa<AtomicRMWInst>(inst) || isa<AtomicCmpXchgInst>(inst))
    return Level::Thread;
  if (auto *load = dyn_cast<LoadInst>(&inst)) {
    if (load->isVolatile() || load->isAtomic())
      return Level::Thread;
    if (load->hasMetadata("kb.param"))
      return Level::Launch;
    return std::max(operands, Level::Block);
  }
  if (isa<PHINode>(inst) && loops.isLoopHeader(inst.getParent()))
    return std::max(operands, Level::Block);
  if (auto *call = dyn_cast<CallBase>(&inst)) {
    if (auto *assembly = dyn_cast<InlineAsm>(call->getCalledOperand()))
      return assembly->hasSideEffects() ? Level::Thread : operands;
    Function *callee = call->getCalledFunction();
    if (!callee)
      return Level::Thread;
    StringRef name = callee->getName();
    if (name.consume_front("llvm.nvvm.read.ptx.sreg."))
      return specialRegister(name);
    if (name.contains("barrier"))
      return Level::Block; // syncthreads_count, _and, _or
    if (isLibdevice(*callee) || (callee->isIntrinsic() && callee->doesNotAccessMemory() &&
                                 !callee->hasFnAttribute(Attribute::Convergent)))
      return operands;
    return Level::Thread;
  }
  return operands;
}

bool ThreadDependence::propagateControl(const BasicBlock &branch, Level level) {
  bool changed = false;
  auto *node = postDominators.getNode(&branch);
  const BasicBlock *join = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  SmallVector<const BasicBlock *> work(successors(&branch));
  SmallPtrSet<const BasicBlock *, 16> seen;
  const Loop *own = loops.getLoopFor(&branch);
  while (!work.empty()) {
    const BasicBlock *block = work.pop_back_val();
    if (!seen.insert(block).second)
      continue;
    // Values of one iteration do not join with those of the next.
    bool backEdge = loops.isLoopHeader(block) && loops.getLoopFor(block)->contains(&branch);
    if (!backEdge)
      for (const PHINode &phi : block->phis())
        if (!phi.hasConstantOrUndefValue() && !loops.isLoopHeader(block))
          changed |= raise(&phi, level);
    if (block == join || backEdge)
      continue;
    Level &control = controls[block];
    if (control < level) {
      control = level;
      changed = true;
    }
    work.append(succ_begin(block), succ_end(block));
  }
  // Threads that leave a loop at different iterations carry different values.
  for (const Loop *loop = own; loop; loop = loop->getParentLoop()) {
    if (!loop->isLoopExiting(&branch))
      continue;
    SmallVector<BasicBlock *> exits;
    loop->getExitBlocks(exits);
    for (BasicBlock *exit : exits)
      for (PHINode &phi : exit->phis())
        if (llvm::any_of(phi.incoming_values(), [&](Value *value) {
              auto *inst = dyn_cast<Instruction>(value);
              return inst && loop->contains(inst);
            }))
          changed |= raise(&phi, level);
  }
  return changed;
}

} // namespace kbopt::analysis
