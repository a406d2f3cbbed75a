//===- Uniformity.h - What all threads of a block agree on ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the analysis of which values of a kernel are the same in all threads of
// a block that compute them, and whether its threads meet at their barriers
// and warp operations in lockstep.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_CPU_UNIFORMITY_H
#define KBOPT_LIB_EVAL_CPU_UNIFORMITY_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Function.h"

namespace kbopt::cpu {

/// Errs on the side of "differs". \p stops are the blocks in which a thread
/// waits for others; \p uniform are calls known to give all threads the same.
class Uniformity {
public:
  Uniformity(llvm::Function &function, const llvm::SmallPtrSetImpl<llvm::BasicBlock *> &stops,
             const llvm::SmallPtrSetImpl<const llvm::Instruction *> &uniform);
  bool isUniform(const llvm::Value *value) const { return !divergent.contains(value); }
  /// All threads that have not ended come to the same stop, in the same turns of its loops.
  bool isLockstep() const { return lockstep; }

private:
  using Blocks = llvm::SmallPtrSet<llvm::BasicBlock *, 32>;
  void mark(llvm::Value *value);
  bool isSource(const llvm::Instruction &instruction) const;
  void spreadFrom(llvm::Instruction &branch);
  void checkLockstep(llvm::BasicBlock &from, llvm::ArrayRef<Blocks> sides, llvm::BasicBlock *meet);
  Blocks reach(llvm::BasicBlock *from, llvm::BasicBlock *stop) const;

  const llvm::SmallPtrSetImpl<llvm::BasicBlock *> &stops;
  const llvm::SmallPtrSetImpl<const llvm::Instruction *> &uniform;
  llvm::PostDominatorTree tree;
  llvm::DenseSet<const llvm::Value *> divergent;
  llvm::SmallVector<llvm::Value *> work;
  bool lockstep = true;
};

} // namespace kbopt::cpu

#endif // KBOPT_LIB_EVAL_CPU_UNIFORMITY_H
