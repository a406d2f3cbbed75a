//===- ThreadDependence.h - Which values differ between threads -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the analysis of uniform and divergent values of one kernel, by data and
// by control. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_THREADDEPENDENCE_H
#define KBOPT_LIB_ANALYSIS_THREADDEPENDENCE_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Function.h"

namespace kbopt::analysis {

/// How much a value may differ. "At one time" means in the same iteration of
/// the loops around it: threads of a loop with a divergent trip count agree on a
/// value per iteration.
enum class Level {
  Launch, ///< one value for the whole launch
  Block,  ///< the same for all threads of a block at one time
  Thread, ///< may differ between threads
};

class ThreadDependence {
public:
  ThreadDependence(llvm::Function &kernel, const llvm::LoopInfo &loops,
                   const llvm::PostDominatorTree &postDominators);

  Level level(const llvm::Value *value) const;
  /// Of the conditions that decide whether \p block runs.
  Level control(const llvm::BasicBlock *block) const;
  /// Of the conditions that end \p loop.
  Level tripLevel(const llvm::Loop *loop) const;

private:
  Level transfer(const llvm::Instruction &inst) const;
  bool raise(const llvm::Value *value, Level level);
  bool propagateControl(const llvm::BasicBlock &branch, Level level);

  const llvm::LoopInfo &loops;
  const llvm::PostDominatorTree &postDominators;
  llvm::DenseMap<const llvm::Value *, Level> levels;
  llvm::DenseMap<const llvm::BasicBlock *, Level> controls;
};

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_THREADDEPENDENCE_H
