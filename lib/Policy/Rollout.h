//===- Rollout.h - KernelBlaster's rollouts ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the strategy `rollout`: trajectories from the original, each step drawn
// in proportion to what the knowledge base predicts, batches of trajectories
// that learn from those before (KernelBlaster, section 3).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_ROLLOUT_H
#define KBOPT_LIB_POLICY_ROLLOUT_H

#include "kb-opt/Policy/Search.h"

namespace kbopt {

class RolloutStrategy : public Strategy {
protected:
  llvm::Expected<SearchEnd> explore(Explorer &explorer) override;
};

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_ROLLOUT_H
