//===- Minimal.h - The baseline without a team ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the strategy `minimal`: rollouts whose every step asks one role for the
// whole kernel; no choice of passes, no debugger, no knowledge (KernelBlaster,
// section 6.4). Budgets and gates are those of every other strategy.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_POLICY_MINIMAL_H
#define KBOPT_LIB_POLICY_MINIMAL_H

#include "kb-opt/Policy/Search.h"

namespace kbopt {

class MinimalStrategy : public Strategy {
protected:
  void restrict(SearchOptions &options) const override {
    options.memory = false;
    options.sketches = false;
  }
  llvm::Expected<SearchEnd> explore(Explorer &explorer) override;
};

} // namespace kbopt

#endif // KBOPT_LIB_POLICY_MINIMAL_H
