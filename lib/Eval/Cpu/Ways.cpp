//===- Ways.cpp - Which ways lanes took before __activemask() -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the marks at branches whose sides can both lead to an __activemask()
// without a synchronisation of the warp on the way. On a chip, lanes that took different sides of
// one need not come together again; the runtime lets lanes meet at random then
// (runtime/cpu/ActiveMask.cpp). Runs behind the optimiser: a branch that became a
// selection parts no lanes.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace kbopt::cpu {

static StringRef calledName(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee ? callee->getName() : StringRef();
}

/// Whether all lanes of a warp, or of a block, are together behind \p instruction.
static bool synchronises(const Instruction &instruction) {
  StringRef name = calledName(instruction);
  if (!name.consume_front("llvm.nvvm."))
    return false;
  if (name.starts_with("barrier"))
    return !name.contains("arrive") && !name.contains("count");
  if (!name.contains(".sync"))
    return false;
  auto *mask = dyn_cast<ConstantInt>(cast<CallInst>(instruction).getArgOperand(0));
  return mask && mask->isMinusOne();
}

namespace {
class WayMarker {
public:
  explicit WayMarker(ImageContext &context) : context(context) {}
  void run();

private:
  enum class Meeting { None, ActiveMask, Synchronisation };
  Meeting firstMeeting(const BasicBlock &block);
  bool leadsToActiveMask(BasicBlock *from);
  void mark(Instruction &terminator);

  ImageContext &context;
  SmallPtrSet<const Function *, 8> asking; ///< functions that call __activemask(), maybe in others
};
} // namespace

WayMarker::Meeting WayMarker::firstMeeting(const BasicBlock &block) {
  for (const Instruction &instruction : block) {
    auto *call = dyn_cast<CallInst>(&instruction);
    if (!call)
      continue;
    if (calledName(instruction) == "llvm.nvvm.activemask" ||
        asking.contains(call->getCalledFunction()))
      return Meeting::ActiveMask;
    if (synchronises(instruction))
      return Meeting::Synchronisation;
  }
  return Meeting::None;
}

bool WayMarker::leadsToActiveMask(BasicBlock *from) {
  SmallVector<BasicBlock *> work{from};
  SmallPtrSet<BasicBlock *, 32> seen;
  while (!work.empty()) {
    BasicBlock *block = work.pop_back_val();
    if (!seen.insert(block).second)
      continue;
    Meeting meeting = firstMeeting(*block);
    if (meeting == Meeting::ActiveMask)
      return true;
    if (meeting == Meeting::None)
      append_range(work, successors(block));
  }
  return false;
}

/// Tells the runtime the number of the successor.
void WayMarker::mark(Instruction &terminator) {
  IRBuilder<> b(&terminator);
  Value *way = nullptr;
  if (auto *branch = dyn_cast<BranchInst>(&terminator)) {
    way = b.CreateZExt(branch->getCondition(), b.getInt32Ty());
  } else {
    auto &choice = cast<SwitchInst>(terminator);
    way = b.getInt32(0);
    for (const auto &each : choice.cases())
      way = b.CreateSelect(b.CreateICmpEQ(choice.getCondition(), each.getCaseValue()),
                           b.getInt32(each.getSuccessorIndex()), way);
  }
  CallInst *call = b.CreateCall(context.runtime("kbrt_took_way"), {way});
  call->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
}

void WayMarker::run() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Function &function : context.module)
      if (!function.isDeclaration() && !asking.contains(&function) &&
          any_of(function, [&](BasicBlock &block) {
            return any_of(block, [&](Instruction &instruction) {
              auto *call = dyn_cast<CallInst>(&instruction);
              return call && (calledName(instruction) == "llvm.nvvm.activemask" ||
                              asking.contains(call->getCalledFunction()));
            });
          }))
        changed = asking.insert(&function).second;
  }
  for (const Function *function : asking)
    for (BasicBlock &block : *const_cast<Function *>(function)) {
      Instruction *terminator = block.getTerminator();
      if (!isa<BranchInst, SwitchInst>(terminator) || terminator->getNumSuccessors() < 2)
        continue;
      unsigned leading = count_if(
          successors(&block), [&](BasicBlock *successor) { return leadsToActiveMask(successor); });
      if (leading > 1)
        mark(*terminator);
    }
}

void markWays(ImageContext &context) { WayMarker(context).run(); }

} // namespace kbopt::cpu
