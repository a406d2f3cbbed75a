//===- Coverage.cpp - Which source places a checked run executes ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the flags of mode Check that each basic block sets when it is executed, and the table of
// the source places behind them. Runs on optimised code: what the optimiser proves dead has no
// block, and copies of a loop share their places.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace kbopt::cpu {

/// Whether \p instruction says that its place was executed: it computes, or decides.
static bool does(const Instruction &instruction) {
  if (isa<PHINode>(instruction) || instruction.isDebugOrPseudoInst() ||
      instruction.isLifetimeStartOrEnd() || isa<ReturnInst>(instruction))
    return false;
  if (const auto *branch = dyn_cast<BranchInst>(&instruction))
    return branch->isConditional();
  if (const auto *call = dyn_cast<CallInst>(&instruction))
    if (const Function *callee = call->getCalledFunction())
      return !callee->getName().starts_with("kbrt_");
  return true;
}

/// Whether the program gives up in \p block: a failed assertion, a trap.
static bool givesUp(const BasicBlock &block) {
  return isa<UnreachableInst>(block.getTerminator()) ||
         any_of(block, [](const Instruction &instruction) {
           const auto *call = dyn_cast<CallInst>(&instruction);
           const Function *callee = call ? call->getCalledFunction() : nullptr;
           return callee && (callee->getName() == "__assertfail" ||
                             callee->getIntrinsicID() == Intrinsic::trap);
         });
}

std::set<kbrt::SourcePosition> executedPlaces(const ImageContext &context,
                                              const BasicBlock &block) {
  std::set<kbrt::SourcePosition> places;
  if (givesUp(block))
    return places;
  for (const Instruction &instruction : block)
    if (does(instruction))
      if (const SourcePlace place = context.placeOf(instruction.getDebugLoc());
          place.line && place.file == context.mainFile)
        places.insert({place.line, place.column});
  return places;
}

void instrumentCoverage(ImageContext &context) {
  unsigned number = 0;
  for (Function &function : context.module) {
    if (function.isDeclaration() || function.getName().starts_with("kb."))
      continue;
    // One array a function, so that the code of a kernel does not depend on the others.
    Type *flag = Type::getInt8Ty(context.module.getContext());
    auto *type = ArrayType::get(flag, function.size());
    auto *flags =
        new GlobalVariable(context.module, type, false, GlobalValue::InternalLinkage,
                           ConstantAggregateZero::get(type), "kb.reached." + function.getName());
    for (const auto &[index, block] : enumerate(function)) {
      const auto places = executedPlaces(context, block);
      IRBuilder<> b(&block, block.getFirstInsertionPt());
      b.SetCurrentDebugLocation(DebugLoc());
      Constant *own = ConstantExpr::getInBoundsGetElementPtr(flag, flags, b.getInt64(index));
      b.CreateStore(b.getInt8(1), own);
      for (const auto &[line, column] : places)
        context.reached.push_back({flags, unsigned(index), number, line, column});
    }
    ++number;
  }
}

} // namespace kbopt::cpu
