//===- Uniformity.cpp - What all threads of a block agree on --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Uniformity.h"
#include "ThreadState.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace kbopt::cpu {

Uniformity::Uniformity(Function &function, const SmallPtrSetImpl<BasicBlock *> &stops,
                       const SmallPtrSetImpl<const Instruction *> &uniform)
    : stops(stops), uniform(uniform), tree(function) {
  // Of the state parameters only the block is shared by all threads.
  for (unsigned i = function.arg_size() - stateParameters + 1; i < function.arg_size(); ++i)
    mark(function.getArg(i));
  for (Instruction &instruction : instructions(function))
    if (isSource(instruction))
      mark(&instruction);
  while (!work.empty()) {
    Value *value = work.pop_back_val();
    for (User *user : value->users()) {
      auto *instruction = cast<Instruction>(user);
      if (instruction->isTerminator() && instruction->getNumSuccessors() > 1)
        spreadFrom(*instruction);
      else if (!uniform.contains(instruction))
        mark(instruction);
    }
  }
}

void Uniformity::mark(Value *value) {
  if (divergent.insert(value).second)
    work.push_back(value);
}

/// What memory holds and what calls do may differ by the time and by the thread.
bool Uniformity::isSource(const Instruction &instruction) const {
  if (uniform.contains(&instruction) || instruction.getType()->isVoidTy())
    return false;
  if (isa<LoadInst>(instruction))
    return !instruction.hasMetadata(LLVMContext::MD_invariant_load);
  if (auto *call = dyn_cast<CallBase>(&instruction))
    return !call->doesNotAccessMemory();
  return isa<AllocaInst>(instruction) || instruction.mayReadOrWriteMemory();
}

Uniformity::Blocks Uniformity::reach(BasicBlock *from, BasicBlock *stop) const {
  Blocks seen;
  SmallVector<BasicBlock *> todo{from};
  while (!todo.empty()) {
    BasicBlock *block = todo.pop_back_val();
    if (seen.insert(block).second && block != stop)
      append_range(todo, successors(block));
  }
  return seen;
}

/// Threads part at \p branch: what differs where they meet again.
void Uniformity::spreadFrom(Instruction &branch) {
  BasicBlock *from = branch.getParent();
  if (!divergent.insert(&branch).second)
    return;
  auto *node = tree.getNode(from);
  BasicBlock *meet = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  SmallPtrSet<BasicBlock *, 4> targets(succ_begin(from), succ_end(from));
  if (targets.size() < 2)
    return;
  SmallVector<Blocks, 2> sides;
  Blocks all, joins;
  for (BasicBlock *target : targets) {
    sides.push_back(reach(target, meet));
    for (BasicBlock *block : sides.back())
      if (!all.insert(block).second)
        joins.insert(block);
  }
  if (meet)
    joins.insert(meet);
  for (BasicBlock *block : joins)
    for (PHINode &phi : block->phis())
      mark(&phi);
  // A loop that threads leave at different times: what they take along differs.
  for (BasicBlock *block : all) {
    if (joins.contains(block))
      continue;
    for (Instruction &instruction : *block)
      if (any_of(instruction.users(), [&](User *user) {
            BasicBlock *where = cast<Instruction>(user)->getParent();
            return joins.contains(where) || !all.contains(where);
          }))
        mark(&instruction);
  }
  checkLockstep(*from, sides, meet);
}

void Uniformity::checkLockstep(BasicBlock &from, ArrayRef<Blocks> sides, BasicBlock *meet) {
  bool stopsBetween = any_of(sides, [&](const Blocks &side) {
    return any_of(side, [&](BasicBlock *block) { return block != meet && stops.contains(block); });
  });
  if (!stopsBetween)
    return;
  // Only one way leads to stops at all: on the others a thread ends.
  SmallPtrSet<BasicBlock *, 4> targets(succ_begin(&from), succ_end(&from));
  unsigned ways = count_if(targets, [&](BasicBlock *target) {
    return any_of(reach(target, nullptr), [&](BasicBlock *block) { return stops.contains(block); });
  });
  lockstep &= ways <= 1;
}

} // namespace kbopt::cpu
