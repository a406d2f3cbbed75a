//===- SkippedBarriers.cpp - Ways around a barrier ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the marks that mode Check puts on the edges of the source's control flow
// from which a block barrier is no longer reached, though the branch could have led
// to it. The runtime tells from them a thread that skipped a barrier others wait at from
// one that returned early (runtime/cpu/Barriers.cpp). Runs before the optimiser,
// which may merge both, but behind inlining: a thread that returns from a function
// whose kernel has nothing left to do returns early, too.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "kb-opt/Support/AnalysisManagers.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar/JumpThreading.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace kbopt::cpu {

/// A barrier for all threads of the block.
static bool isBlockBarrier(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  if (!callee)
    return false;
  StringRef name = callee->getName();
  if (!name.consume_front("llvm.nvvm.bar") || name.starts_with(".warp"))
    return false;
  return !name.contains("count") && !name.contains("cnt") && !name.contains("arrive");
}

/// Whether a thread that comes to \p block of a kernel has nothing left to do.
static bool endsHere(const BasicBlock *block) {
  SmallPtrSet<const BasicBlock *, 4> seen;
  while (block && seen.insert(block).second) {
    for (const Instruction &instruction : *block)
      if (!isa<PHINode>(instruction) && !instruction.isDebugOrPseudoInst() &&
          !instruction.isLifetimeStartOrEnd() && !instruction.isTerminator())
        return false;
    if (isa<ReturnInst>(block->getTerminator()))
      return true;
    block = block->getSingleSuccessor();
  }
  return false;
}

static bool reaches(BasicBlock *from, const BasicBlock *to, const BasicBlock *stop) {
  SmallVector<BasicBlock *> work{from};
  SmallPtrSet<BasicBlock *, 32> seen;
  while (!work.empty()) {
    BasicBlock *block = work.pop_back_val();
    if (block == stop || !seen.insert(block).second)
      continue;
    if (block == to)
      return true;
    append_range(work, successors(block));
  }
  return false;
}

namespace {
struct SkipEdge {
  BasicBlock *from, *to;
  Instruction *barrier;
};
} // namespace

/// Edges behind which the paths meet again without having met a barrier that
/// another edge of the same branch leads to. Where the paths of a kernel meet only
/// at its end, a thread returns early, which is common practice and not marked.
static SmallVector<SkipEdge> skipEdges(Function &function, ArrayRef<Instruction *> barriers) {
  const bool isKernel = function.getCallingConv() == CallingConv::PTX_Kernel;
  PostDominatorTree tree(function);
  SmallVector<SkipEdge> edges;
  for (BasicBlock &block : function) {
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1))
      continue;
    auto *node = tree.getNode(&block);
    BasicBlock *meet = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    if (isKernel && (!meet || endsHere(meet)))
      continue;
    for (Instruction *barrier : barriers) {
      bool first = reaches(branch->getSuccessor(0), barrier->getParent(), meet);
      bool second = reaches(branch->getSuccessor(1), barrier->getParent(), meet);
      if (first != second)
        edges.push_back({&block, branch->getSuccessor(first ? 1 : 0), barrier});
    }
  }
  return edges;
}

/// Gives every way through a kernel edges of its own. A front end leads returns and the ends of
/// scopes through common blocks, and decides behind them by a variable which threads go on.
static void separateWays(Module &module) {
  PassBuilder builder;
  AnalysisManagers analyses(builder);
  AlwaysInlinerPass().run(module, analyses.modules);
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(JumpThreadingPass());
  createModuleToFunctionPassAdaptor(std::move(passes)).run(module, analyses.modules);
}

void markSkippedBarriers(ImageContext &context) {
  if (none_of(context.module, [](const Function &function) {
        return any_of(instructions(function), isBlockBarrier);
      }))
    return;
  separateWays(context.module);
  for (Function &function : context.module) {
    if (function.isDeclaration())
      continue;
    SmallVector<Instruction *> barriers;
    for (Instruction &instruction : instructions(function))
      if (isBlockBarrier(instruction) && instruction.getDebugLoc())
        barriers.push_back(&instruction);
    if (barriers.empty())
      continue;
    DenseMap<std::pair<BasicBlock *, BasicBlock *>, BasicBlock *> split;
    for (const SkipEdge &edge : skipEdges(function, barriers)) {
      BasicBlock *&middle = split[{edge.from, edge.to}];
      if (!middle)
        middle = SplitEdge(edge.from, edge.to);
      IRBuilder<> builder(middle->getTerminator());
      builder.SetCurrentDebugLocation(edge.barrier->getDebugLoc());
      unsigned site = context.addSite(*edge.barrier, kbrt::AccessKind::Barrier, "skipped");
      CallInst *call = context.callAtSite(builder, "kbrt_barrier_skipped", site, {});
      call->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
    }
  }
}

} // namespace kbopt::cpu
